-- token_find
-- By the hash of the secret that somebody came with.
select id, hash, user_id, name, machine, scope, resources, expires_at, created_at, created_by, parent, console, last_used_at from token where hash = ?1
