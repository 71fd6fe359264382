-- task_read
select id, title, status, created_at, created_by, updated_at, finalized from task where id = ?1
