-- note_list
-- Oldest first, from task_note_task.
select at, actor, via, what, line, detail from task_note where task = ?1 order by n limit ?2
