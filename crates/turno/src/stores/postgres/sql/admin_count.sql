-- admin_count
-- Those who can let others in. There are few people, and changes of access are rarer still.
select count(*) from turno.person where role = 'admin' and not disabled
