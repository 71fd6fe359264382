-- name: token_remove_of
-- Deletes all tokens of a user with their sessions, and the sessions of those.
with recursive dead (id) as (
    select id from token where user_id = ?1
    union
    select token.id from dead join token on token.parent = dead.id
)
delete from token where id in (select id from dead)
