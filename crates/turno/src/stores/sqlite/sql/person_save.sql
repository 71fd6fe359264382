-- name: person_save
-- The creation time never changes.
insert into person (id, name, role, disabled, password, created_at, issuer, subject)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
on conflict (id) do update set
    name = excluded.name,
    role = excluded.role,
    disabled = excluded.disabled,
    password = excluded.password,
    issuer = excluded.issuer,
    subject = excluded.subject
