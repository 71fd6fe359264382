-- name: life_lock
-- Lets one process at a time begin a life. The second lock stops the sequencer meanwhile, because positions jump. It also
-- excludes a process of version 0.1.0, which takes the first lock in another class.
select pg_advisory_xact_lock(1953854068, 0), pg_advisory_xact_lock(1953854063, 0)

-- name: life_move
-- Sequences are not transactional: numbers taken meanwhile are lower or higher than the jump. Never lowers the
-- sequence.
select setval('turno.number', greatest($1::bigint, n.last_value)) from turno.number n

-- name: life_name
-- The database's life, rendered as in the clock statement.
select s.started || '/' || s.timeline || '/' || l.tableoid || '/' || l.number
from turno.life l cross join turno.server_life() s

-- name: life_save
update turno.life
set identifier = $1::text, timeline = $2::text, started = $3::text, number = (random() * 9007199254740991)::bigint
