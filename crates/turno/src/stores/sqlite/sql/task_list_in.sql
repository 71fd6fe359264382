-- task_list_in
-- Newest first, from task_status.
select id, title, status, created_at, created_by, updated_at, finalized from task where status = ?3 and id < ?1 order by id desc limit ?2
