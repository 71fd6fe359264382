-- task_save
-- Since when, by whom and under which key it is there never changes.
insert into task (id, title, status, created_at, created_by, updated_at, finalized, once_scope, once_key)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
on conflict (id) do update set
    title = excluded.title,
    status = excluded.status,
    updated_at = excluded.updated_at,
    finalized = excluded.finalized
