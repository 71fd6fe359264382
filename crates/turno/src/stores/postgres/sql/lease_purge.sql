-- name: lease_purge
-- Examines the next leases by name. A lease without holder, waiting line and recent ownership carries no information.
-- The second element of `ended` is its time. The lock checks the row again, so a lease claimed meanwhile stays; it
-- waits for no lock.
with looked as (
    select w.resource from turno.lease w where w.resource > $1::text order by w.resource limit $3::bigint
), old as (
    select k.resource
    from looked
    join turno.lease k on k.resource = looked.resource
    where k.fence is null and k.waiting is null and (k.ended is null or (k.ended::json ->> 1)::bigint < $2::bigint)
    for update of k skip locked
), gone as (
    delete from turno.lease l using old where l.resource = old.resource returning l.resource
)
select (select count(*) from gone), (select max(looked.resource) from looked)
