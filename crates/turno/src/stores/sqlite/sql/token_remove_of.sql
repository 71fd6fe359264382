-- token_remove_of
-- All of a user, each with the sessions that it made, and those that they made.
with recursive dead (id) as (
    select id from token where user_id = ?1
    union
    select token.id from dead join token on token.parent = dead.id
)
delete from token where id in (select id from dead)
