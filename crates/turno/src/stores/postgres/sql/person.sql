-- name: person_admins
-- Administrators who can sign in. There are few people, and changes of access are rare, so no index is needed.
select count(*) from turno.person where role = 'admin' and not disabled

-- name: person_of_identity
select id, name, role, disabled, password, created_at, issuer, subject
from turno.person where issuer = $1::text and subject = $2::text

-- name: person_read
select id, name, role, disabled, password, created_at, issuer, subject from turno.person where id = $1::text

-- name: person_remove
delete from turno.person where id = $1::text
