-- person_read
select id, name, role, disabled, password, created_at from turno.person where id = $1::text
