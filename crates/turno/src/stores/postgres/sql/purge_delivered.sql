-- purge_delivered
-- Keys that were deactivated that long ago. Of one that has no row, nothing known and deactivated are the same to a
-- comparison; one that has a row again is delivered again, and is not among these then.
with old as (
    select d.key from turno.sync_delivered d
    where d.queue = $1::int and d.digest is null and d.at < $2::bigint
    limit $3::bigint
    for update skip locked
), gone as (
    delete from turno.sync_delivered d using old where d.queue = $1::int and d.key = old.key returning d.key
)
select count(*) from gone
