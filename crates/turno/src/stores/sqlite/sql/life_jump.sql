-- life_jump
-- Moves SQLite's own counter of a table. It has no row before the first insert, so then nothing changes.
update sqlite_sequence set seq = max(seq, ?2) where name = ?1
