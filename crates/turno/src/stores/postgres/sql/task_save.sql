-- name: task_save
-- The creation time, the creator and the once key never change. If two tasks are created with one key at the same time,
-- the unique index refuses the second, which is then repeated.
insert into turno.task (id, title, status, created_at, created_by, updated_at, finalized, once_scope, once_key)
values ($1::bigint, $2::text, $3::text, $4::bigint, $5::text, $6::bigint, $7::text, $8::text, $9::text)
on conflict (id) do update
set title = excluded.title, status = excluded.status, updated_at = excluded.updated_at, finalized = excluded.finalized
