-- name: task_list
-- Newest first, along the primary key.
select id, title, status, created_at, created_by, updated_at, finalized from task where id < ?1 order by id desc limit ?2

-- name: task_list_in
-- Newest first, from task_status.
select id, title, status, created_at, created_by, updated_at, finalized from task where status = ?3 and id < ?1 order by id desc limit ?2

-- name: task_number
-- The number of the next task. Inserting the task moves the table's own counter, so that no number is given twice, and
-- a refused creation uses none up.
select coalesce((select seq from sqlite_sequence where name = 'task'), 0) + 1

-- name: task_once
-- The task with this once key, from its unique index.
select id, title, status, created_at, created_by, updated_at, finalized from task where once_scope = ?1 and once_key = ?2

-- name: task_read
select id, title, status, created_at, created_by, updated_at, finalized from task where id = ?1

-- name: task_status
-- Runs in the transaction of the first applied line.
update task set status = ?2, updated_at = max(updated_at, ?3) where id = ?1
