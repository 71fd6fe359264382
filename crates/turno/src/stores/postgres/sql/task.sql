-- name: task_lease_insert
-- A missing row cannot be locked. Inserts only for an existing task, so that guessing task numbers creates no rows.
insert into turno.lease (resource)
select $1::text where exists (select from turno.task where id = $2::bigint)
on conflict (resource) do nothing

-- name: task_lock
-- Does not wait: the row is locked while a line is applied, which takes as long as its effect, or by a command on
-- another instance. The columns are read by the next statement, behind the lock, together with the lines.
select id from turno.task where id = $1::bigint for update skip locked

-- name: task_number
select nextval(pg_get_serial_sequence('turno.task', 'id'))

-- name: task_status
-- Runs in the last trip of a line's transaction, which holds task_share, so no command can have come in between. If
-- another line has written the same status meanwhile, there is nothing to write.
update turno.task set status = $2::text, updated_at = greatest(updated_at, $3::bigint)
where id = $1::bigint and status <> $2::text
