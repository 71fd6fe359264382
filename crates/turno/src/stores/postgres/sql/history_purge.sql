-- name: history_purge
-- Oldest first, by the index on ended_at.
with old as (
    select h.resource, h.fence
    from turno.lease_history h
    where h.ended_at < $1::bigint
    order by h.ended_at
    limit $2::bigint
    for update skip locked
), gone as (
    delete from turno.lease_history h using old where h.resource = old.resource and h.fence = old.fence
    returning h.fence
)
select count(*) from gone
