-- task_status
-- Within the transaction of the first line that is applied, which has locked the task for it (task_alone).
update turno.task set status = $2::text, updated_at = greatest(updated_at, $3::bigint) where id = $1::bigint
