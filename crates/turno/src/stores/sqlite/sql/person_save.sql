-- name: person_save
-- The creation time never changes.
insert into person (id, name, role, disabled, password, created_at)
values (?1, ?2, ?3, ?4, ?5, ?6)
on conflict (id) do update set
    name = excluded.name,
    role = excluded.role,
    disabled = excluded.disabled,
    password = excluded.password
