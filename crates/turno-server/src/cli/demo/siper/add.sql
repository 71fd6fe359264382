-- Adds a principal ($1) with a name ($2), unless the person has one.
insert into siper.usuarios (idper, nombre, apellido, hashpass, algoritmo_pass, principal)
select $1::int, $2::text, 'Demo', 'sha256:' || $2::text, 'PG-SHA256', true
where not exists (select from siper.usuarios u where u.idper = $1::int and u.principal)
