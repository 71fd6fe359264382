-- name: person_save
insert into turno.person (id, name, role, disabled, password, created_at, issuer, subject)
values ($1::text, $2::text, $3::text, $4::boolean, $5::text, $6::bigint, $7::text, $8::text)
on conflict (id) do update
set name = excluded.name, role = excluded.role, disabled = excluded.disabled, password = excluded.password,
    issuer = excluded.issuer, subject = excluded.subject
