-- task_number
-- The number of the next task. Inserting the task moves the table's own counter, so that no number is given twice, and
-- a refused creation uses none up.
select coalesce((select seq from sqlite_sequence where name = 'task'), 0) + 1
