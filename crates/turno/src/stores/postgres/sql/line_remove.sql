-- name: line_remove
delete from turno.task_line where task = $1::bigint
