-- life_lock
-- One process at a time begins a life, under a class number of its own; and nobody gives positions to events meanwhile,
-- because they jump.
select pg_advisory_xact_lock(1953854066, 0), pg_advisory_xact_lock(1953854063, 0)
