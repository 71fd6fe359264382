-- name: token_consoles
-- The user's console sessions, oldest first.
select id from turno.token where user_id = $1::text and console order by created_at, id

-- name: token_count
-- Sessions are not counted, because they expire by themselves.
select count(*) from turno.token where user_id = $1::text and parent is null and not console

-- name: token_expiring
-- Tokens that expire within a span, from token_expiry. Sessions expire soon by nature, so they do not count.
select count(*) from turno.token
where expires_at > $1::bigint and expires_at <= $2::bigint and parent is null and not console

-- name: token_shorten
update turno.token set expires_at = $2::bigint where id = $1::text
