-- task_fresh
-- The number of the task to be. Inserting it moves the table's own count on, so a number is never given anew, and a
-- creation that is refused leaves nothing behind.
select coalesce((select seq from sqlite_sequence where name = 'task'), 0) + 1
