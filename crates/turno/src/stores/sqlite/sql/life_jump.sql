-- life_jump
-- Moves SQLite's own counter of a table, so that the next insert continues behind it. life_first has added a missing
-- row.
update sqlite_sequence set seq = max(seq, ?2) where name = ?1
