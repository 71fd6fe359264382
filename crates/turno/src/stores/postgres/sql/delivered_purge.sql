-- name: delivered_purge
-- Keys that were deactivated before $2. For a key without a row, a comparison treats "deactivated" and "nothing
-- recorded" alike. A key that has a row again has been delivered again, so it is not among these.
with old as (
    select d.key from turno.sync_delivered d
    where d.queue = $1::int and d.digest is null and d.at < $2::bigint
    limit $3::bigint
    for update skip locked
), gone as (
    delete from turno.sync_delivered d using old where d.queue = $1::int and d.key = old.key returning d.key
)
select count(*) from gone
