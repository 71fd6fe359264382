-- tokens_remove
-- All of somebody who leaves, with the sessions made by them, and whatever those made.
with recursive dead (id) as (
    select t.id from turno.token t where t.user_id = $1::text
    union
    select c.id from dead d join turno.token c on c.parent = d.id
)
delete from turno.token t using dead where t.id = dead.id
