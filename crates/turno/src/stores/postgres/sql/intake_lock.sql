-- intake_lock
-- One at a time takes in, under a class number of its own: the order of calls is then the order of admission. Not waited
-- for: whoever holds it does the same work.
select pg_try_advisory_xact_lock(1953854065, 0)
