-- name: token_remove
-- Deletes a token with its sessions, and the sessions of those.
with recursive dead (id) as (
    select id from token where id = ?1
    union
    select token.id from dead join token on token.parent = dead.id
)
delete from token where id in (select id from dead)
