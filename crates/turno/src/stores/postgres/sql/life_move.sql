-- life_move
-- Sequences are not transactional: numbers taken meanwhile are lower or higher than the jump. Never lowers the
-- sequence.
select setval('turno.number', greatest($1::bigint, n.last_value)) from turno.number n
