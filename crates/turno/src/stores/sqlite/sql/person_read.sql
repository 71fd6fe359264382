-- person_read
select id, name, role, disabled, password, created_at from person where id = ?1
