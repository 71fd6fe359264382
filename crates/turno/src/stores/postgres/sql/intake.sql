-- name: intake_lock
-- Lets one process at a time take in from a queue ($1), under its own class number, so that items are admitted in the
-- order of the calls. Does not wait, because the holder does the same work. Queues do not wait for each other. Number 0
-- is the lock that programs up to 0.1.0 take for all queues together.
select pg_try_advisory_xact_lock_shared(1953854065, 0) and pg_try_advisory_xact_lock(1953854065, $1::int)

-- name: intake_queues
-- The queues with rows in the intake, if a look found more transactions than a process keeps.
select i.queue from turno.intake i union select k.queue from turno.sync_mark k

-- name: intake_remove
delete from turno.intake i
using unnest($1::bigint[]) as u (n)
where i.n = u.n
