-- token_revoke
-- With the sessions made by them, and whatever those made.
with recursive dead (id) as (
    select t.id from turno.token t where t.id = any ($1::text[])
    union
    select c.id from dead d join turno.token c on c.parent = d.id
)
delete from turno.token t using dead where t.id = dead.id
