-- name: task_share
-- Keeps commands out while a line is applied, but not other lines. The weakest lock that keeps commands out, so that a
-- line can write the task's status (task_status) while other lines hold theirs. With a stronger lock two writing lines
-- would deadlock, or all would wait for an effect.
select id, title, status, created_at, created_by, updated_at, finalized
from turno.task
where id = $1::bigint
for key share
