-- name: token_consoles
-- The user's console sessions, oldest first.
select id from turno.token where user_id = $1::text and console order by created_at, id

-- name: token_count
-- Sessions are not counted, because they expire by themselves.
select count(*) from turno.token where user_id = $1::text and parent is null and not console
