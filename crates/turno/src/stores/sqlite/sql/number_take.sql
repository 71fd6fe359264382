-- number_take
-- Returns the last of ?1 fresh numbers. A row suffices as a sequence, because the write lock is held anyway.
update number set value = value + ?1
returning value
