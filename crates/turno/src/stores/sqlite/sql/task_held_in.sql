-- name: task_held_in
-- Tasks with an ownership in one status, newest first, from task_status.
select id, title, status, created_at, created_by, updated_at, finalized
from task
where status = ?3 and id < ?1
    and exists (select 1 from lease where lease.resource = 'task:' || task.id and lease.fence is not null)
order by id desc
limit ?2
