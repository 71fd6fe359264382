-- task_share
-- Commands stay out while a line is applied; other lines do not. The weakest lock that keeps commands out, so that a line
-- can write the task's status (task_status) while others hold theirs: with a stronger one, two that write would wait for
-- each other, or everybody for an effect.
select id, title, status, created_at, created_by, updated_at, finalized
from turno.task
where id = $1::bigint
for key share
