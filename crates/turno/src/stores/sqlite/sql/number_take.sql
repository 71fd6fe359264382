-- number_take
-- The last of ?1 fresh numbers. A row is enough for a sequence here: the write lock is held anyway.
update number set value = value + ?1
returning value
