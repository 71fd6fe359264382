-- name: absorbed_purge
with old as (
    select a.id from turno.absorbed a
    where a.queue = $1::int and a.at < $2::bigint
    order by a.at
    limit $3::bigint
    for update skip locked
), gone as (
    delete from turno.absorbed a using old where a.queue = $1::int and a.id = old.id returning a.id
)
select count(*) from gone
