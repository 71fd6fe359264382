-- name: token_remove
-- Deletes tokens with their sessions, and the sessions of those.
with recursive dead (id) as (
    select t.id from turno.token t where t.id = any ($1::text[])
    union
    select c.id from dead d join turno.token c on c.parent = d.id
)
delete from turno.token t using dead where t.id = dead.id
