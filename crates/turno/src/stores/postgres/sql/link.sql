-- name: link_add
insert into turno.link (hash, user_id, expires_at, created_at) values ($1::bytea, $2::text, $3::bigint, $4::bigint)

-- name: link_read
select hash, user_id, expires_at, created_at from turno.link where hash = $1::bytea

-- name: link_remove_of
-- For a user with a new password, and for one who is disabled or removed. There are few links, so no index is needed.
delete from turno.link where user_id = $1::text

-- name: link_spend
-- Runs under the lock of all changes of access, so that a second use of the link reads that it is gone.
delete from turno.link where hash = $1::bytea
