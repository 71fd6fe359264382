-- name: person_admins
-- Administrators who can sign in. There are few people, and changes of access are rare, so no index is needed.
select count(*) from person where role = 'admin' and not disabled

-- name: person_list
select id, name, role, disabled, password, created_at, issuer, subject from person where id > ?1 order by id limit ?2

-- name: person_of_identity
select id, name, role, disabled, password, created_at, issuer, subject from person where issuer = ?1 and subject = ?2

-- name: person_read
select id, name, role, disabled, password, created_at, issuer, subject from person where id = ?1

-- name: person_remove
delete from person where id = ?1
