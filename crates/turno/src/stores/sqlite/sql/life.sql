-- name: life_events
-- Positions jump, so earlier events are deleted and listeners get a reset.
delete from event_in

-- name: life_first
insert into sqlite_sequence (name, seq)
select ?1, 0 where not exists (select 1 from sqlite_sequence s where s.name = ?1)

-- name: life_jump
-- Moves SQLite's own counter of a table, so that the next insert continues behind it. life_first has added a missing
-- row.
update sqlite_sequence set seq = max(seq, ?2) where name = ?1

-- name: life_move
-- Never lowers the sequence.
update number set value = max(value, ?1)

-- name: life_save
update life set identifier = ?1, timeline = ?2, started = ?3
