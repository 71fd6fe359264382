-- person_remove
delete from person where id = ?1
