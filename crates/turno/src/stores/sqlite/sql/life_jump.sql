-- life_jump
-- SQLite's own count of a table, which it has no row for before the first insert: the next insert goes on behind it.
update sqlite_sequence set seq = max(seq, ?2) where name = ?1
