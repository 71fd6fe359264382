-- name: token_remove_of
-- Deletes all tokens of a removed user with their sessions, and the sessions of those.
with recursive dead (id) as (
    select t.id from turno.token t where t.user_id = $1::text
    union
    select c.id from dead d join turno.token c on c.parent = d.id
)
delete from turno.token t using dead where t.id = dead.id
