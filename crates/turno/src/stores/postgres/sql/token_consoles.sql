-- token_consoles
-- The user's console sessions, oldest first.
select id from turno.token where user_id = $1::text and console order by created_at, id
