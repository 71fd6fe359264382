-- intake_lock
-- One process at a time takes in from a queue ($1), under a class number of its own: the order of calls is then the order
-- of admission. Not waited for: the process that holds it does the same work. Queues do not wait for each other. Number 0
-- is what programs up to 0.1.0 lock for all queues together.
select pg_try_advisory_xact_lock_shared(1953854065, 0) and pg_try_advisory_xact_lock(1953854065, $1::int)
