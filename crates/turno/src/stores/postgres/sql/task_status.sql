-- task_status
-- Runs in the last trip of a line's transaction, which holds task_share, so no command can have come in between. If
-- another line has written the same status meanwhile, there is nothing to write.
update turno.task set status = $2::text, updated_at = greatest(updated_at, $3::bigint)
where id = $1::bigint and status <> $2::text
