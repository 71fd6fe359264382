-- person_admins
-- Administrators who can sign in. There are few people, and changes of access are rare, so no index is needed.
select count(*) from turno.person where role = 'admin' and not disabled
