-- task_share
-- Commands stay out while a line is applied; other lines do not.
select id, title, status, created_at, created_by, updated_at, finalized
from turno.task
where id = $1::bigint
for share
