-- person_admins
-- Who could let others in again. People are few.
select count(*) from person where role = 'admin' and not disabled
