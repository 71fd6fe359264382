-- purge_leases
-- Among the next ones by name: what nobody holds, waits for or has held lately says nothing. In an ending the second
-- part is when. The lock looks at the row again, so one that was claimed meanwhile stays, and waits for nobody.
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
