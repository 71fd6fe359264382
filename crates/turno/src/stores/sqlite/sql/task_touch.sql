-- task_touch
-- One of its lines changed, nothing else.
update task set updated_at = max(updated_at, ?2) where id = ?1
