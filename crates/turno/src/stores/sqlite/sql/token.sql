-- name: token_add
insert into token (id, hash, user_id, name, machine, scope, resources, expires_at, created_at, created_by, parent, console, last_used_at, queues, reads)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)

-- name: token_consoles
-- The user's console sessions, oldest first.
select id from token where user_id = ?1 and console order by created_at, id

-- name: token_count
-- Sessions are not counted, because they expire by themselves.
select count(*) from token where user_id = ?1 and parent is null and not console

-- name: token_expiring
-- Tokens that expire within a span, from token_expiry. Sessions expire soon by nature, so they do not count.
select count(*) from token where expires_at > ?1 and expires_at <= ?2 and parent is null and not console

-- name: token_find
-- The token with the hash of the given secret.
select id, hash, user_id, name, machine, scope, resources, expires_at, created_at, created_by, parent, console, last_used_at, queues, reads from token where hash = ?1

-- name: token_list
select id, hash, user_id, name, machine, scope, resources, expires_at, created_at, created_by, parent, console, last_used_at, queues, reads from token where id > ?1 order by id limit ?2

-- name: token_list_of
-- From token_user; a user has few tokens, so sorting them is cheap.
select id, hash, user_id, name, machine, scope, resources, expires_at, created_at, created_by, parent, console, last_used_at, queues, reads from token where user_id = ?3 and id > ?1 order by id limit ?2

-- name: token_purge
-- Oldest expiry first, from token_expiry.
delete from token
where id in (select id from token where expires_at < ?1 order by expires_at limit ?2)

-- name: token_read
select id, hash, user_id, name, machine, scope, resources, expires_at, created_at, created_by, parent, console, last_used_at, queues, reads from token where id = ?1

-- name: token_renew
-- Never shortens: two requests may renew a session in any order.
update token set expires_at = ?2
where id = ?1 and console and expires_at < ?2

-- name: token_shorten
update token set expires_at = ?2 where id = ?1

-- name: token_touch
-- Never moves back: two instances may write in any order.
update token set last_used_at = ?2
where id = ?1 and (last_used_at is null or last_used_at < ?2)
