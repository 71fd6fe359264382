-- task_once
-- The task with this once key, from its unique index.
select id, title, status, created_at, created_by, updated_at, finalized from task where once_scope = ?1 and once_key = ?2
