-- name: link_purge
with old as (
    select l.hash from turno.link l where l.expires_at < $1::bigint order by l.expires_at limit $2::bigint
    for update skip locked
), gone as (
    delete from turno.link l using old where l.hash = old.hash returning l.hash
)
select count(*) from gone
