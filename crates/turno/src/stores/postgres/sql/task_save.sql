-- task_save
insert into turno.task (id, title, status, created_at, created_by, updated_at, finalized)
values ($1::bigint, $2::text, $3::text, $4::bigint, $5::text, $6::bigint, $7::text)
on conflict (id) do update
set title = excluded.title, status = excluded.status, updated_at = excluded.updated_at, finalized = excluded.finalized
