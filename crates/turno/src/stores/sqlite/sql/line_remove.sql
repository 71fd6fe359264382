-- line_remove
-- Deletes all lines of a draft before its new ones are written.
delete from task_line where task = ?1
