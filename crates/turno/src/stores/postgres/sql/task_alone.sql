-- task_alone
-- In place of task_share for a line that may change the task's status. Two lines that held the shared lock and both
-- wanted to write would wait for each other.
select id, title, status, created_at, created_by, updated_at, finalized
from turno.task
where id = $1::bigint
for no key update
