-- life_lock
-- Lets one process at a time begin a life. The second lock stops the sequencer meanwhile, because positions jump.
select pg_advisory_xact_lock(1953854066, 0), pg_advisory_xact_lock(1953854063, 0)
