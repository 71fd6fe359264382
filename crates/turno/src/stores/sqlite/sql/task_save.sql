-- name: task_save
-- The creation time, the creator and the once key never change.
insert into task (id, title, status, created_at, created_by, updated_at, finalized, once_scope, once_key)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
on conflict (id) do update set
    title = excluded.title,
    status = excluded.status,
    updated_at = excluded.updated_at,
    finalized = excluded.finalized
