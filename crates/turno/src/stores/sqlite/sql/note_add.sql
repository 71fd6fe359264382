-- note_add
insert into task_note (task, at, actor, via, what, line, detail)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
