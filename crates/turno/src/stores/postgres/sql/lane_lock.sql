-- lane_lock
-- The mutexes of lanes, 256 slots under one class number (the letters "turn"), which the manual names: advisory locks
-- cost no log and no dirty page, and lock what has no row. The slots come sorted, which is the one order in which
-- everybody locks. All of them are counted, so that none is left out. Taken before the numbers: the order of places
-- in a lane is then the order of commits.
select count(pg_advisory_xact_lock(1953854062, u.slot)) from unnest($1::int[]) as u (slot)
