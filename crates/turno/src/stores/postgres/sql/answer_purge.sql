-- name: answer_purge
with old as (
    select a.scope, a.key from turno.answer a where a.made_at < $1::bigint order by a.made_at limit $2::bigint
    for update skip locked
), gone as (
    delete from turno.answer a using old where a.scope = old.scope and a.key = old.key returning a.key
)
select count(*) from gone
