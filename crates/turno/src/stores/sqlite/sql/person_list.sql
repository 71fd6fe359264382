-- person_list
select id, name, role, disabled, password, created_at from person where id > ?1 order by id limit ?2
