-- token_find
-- The token with the hash of the given secret.
select id, hash, user_id, name, machine, scope, resources, expires_at, created_at, created_by, parent, console, last_used_at from token where hash = ?1
