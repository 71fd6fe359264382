-- name: note_add
insert into task_note (task, at, actor, via, what, line, detail)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7)

-- name: note_list
-- Oldest first, from task_note_task.
select at, actor, via, what, line, detail, n from task_note where task = ?1 and n > ?3 order by n limit ?2
