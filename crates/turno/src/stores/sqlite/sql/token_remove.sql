-- token_remove
-- With the sessions that it made, and those that they made.
with recursive dead (id) as (
    select id from token where id = ?1
    union
    select token.id from dead join token on token.parent = dead.id
)
delete from token where id in (select id from dead)
