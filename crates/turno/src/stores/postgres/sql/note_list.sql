-- name: note_list
select at, actor, via, what, line, detail, n
from turno.task_note
where task = $1::bigint and n > $3::bigint
order by n
limit $2::bigint
