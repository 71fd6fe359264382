-- token_consoles
-- The user's console sessions, oldest first.
select id from token where user_id = ?1 and console order by created_at, id
