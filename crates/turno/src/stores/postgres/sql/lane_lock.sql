-- name: lane_lock
-- Locks lanes: 256 slots under one class number (the letters "turn"), which the manual documents. Advisory locks write
-- no log and dirty no page, and can lock what has no row. The slots come sorted, the order in which all transactions
-- lock them. `count` makes the server evaluate every lock. Taken before the numbers, so that the order of seqs in a
-- lane is the order of commits.
select count(pg_advisory_xact_lock(1953854062, u.slot)) from unnest($1::int[]) as u (slot)
