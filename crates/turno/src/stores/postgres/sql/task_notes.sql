-- task_notes
select at, actor, via, what, line, detail from turno.task_note where task = $1::bigint order by n limit $2::bigint
