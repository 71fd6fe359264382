-- life_lock
-- Lets one process at a time begin a life. The second lock stops the sequencer meanwhile, because positions jump. It also
-- excludes a process of version 0.1.0, which takes the first lock in another class.
select pg_advisory_xact_lock(1953854068, 0), pg_advisory_xact_lock(1953854063, 0)
