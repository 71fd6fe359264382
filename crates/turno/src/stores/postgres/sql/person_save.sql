-- name: person_save
insert into turno.person (id, name, role, disabled, password, created_at)
values ($1::text, $2::text, $3::text, $4::boolean, $5::text, $6::bigint)
on conflict (id) do update
set name = excluded.name, role = excluded.role, disabled = excluded.disabled, password = excluded.password
