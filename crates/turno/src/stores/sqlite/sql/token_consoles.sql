-- token_consoles
-- Where somebody is signed in, oldest first.
select id from token where user_id = ?1 and console order by created_at, id
