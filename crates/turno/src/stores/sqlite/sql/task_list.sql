-- task_list
-- Newest first, along the primary key.
select id, title, status, created_at, created_by, updated_at, finalized from task where id < ?1 order by id desc limit ?2
