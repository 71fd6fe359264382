-- person_remove
delete from turno.person where id = $1::text
