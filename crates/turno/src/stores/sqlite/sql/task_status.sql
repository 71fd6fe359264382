-- task_status
-- Runs in the transaction of the first applied line.
update task set status = ?2, updated_at = max(updated_at, ?3) where id = ?1
