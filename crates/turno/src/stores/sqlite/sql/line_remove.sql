-- line_remove
-- All of them, before a draft gets others.
delete from task_line where task = ?1
