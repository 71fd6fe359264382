-- task_status
-- In the last trip of a line's transaction, which holds task_share: no command can have come in between. Another line may
-- have written the same status meanwhile; then there is nothing to write.
update turno.task set status = $2::text, updated_at = greatest(updated_at, $3::bigint)
where id = $1::bigint and status <> $2::text
