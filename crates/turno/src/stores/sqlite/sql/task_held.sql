-- name: task_held
-- Tasks with an ownership, live or expired. Only in these two statuses can a task have one. Both ranges of task_status
-- are read completely, because few tasks are in work at a time.
select id, title, status, created_at, created_by, updated_at, finalized
from task
where status in ('processing', 'partially_completed') and id < ?1
    and exists (select 1 from lease where lease.resource = 'task:' || task.id and lease.fence is not null)
order by id desc
limit ?2
