-- intake_queues
-- The queues with rows in the intake, if a look found more transactions than a process keeps.
select distinct i.queue from turno.intake i
