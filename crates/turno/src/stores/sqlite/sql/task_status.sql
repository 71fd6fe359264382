-- task_status
-- Within the transaction of the first line that is applied.
update task set status = ?2, updated_at = max(updated_at, ?3) where id = ?1
