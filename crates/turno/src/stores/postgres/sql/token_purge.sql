-- name: token_purge
-- Expired tokens are refused anyway, so deleting them needs no new epoch and no audit entry.
with old as (
    select t.id
    from turno.token t
    where t.expires_at < $1::bigint
    order by t.expires_at
    limit $2::bigint
    for update skip locked
), gone as (
    delete from turno.token t using old where t.id = old.id returning t.id
)
select count(*) from gone
