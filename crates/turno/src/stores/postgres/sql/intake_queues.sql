-- intake_queues
-- The queues that something waits for: where a look found more transactions than a process remembers.
select distinct i.queue from turno.intake i
