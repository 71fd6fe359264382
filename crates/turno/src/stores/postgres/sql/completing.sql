-- name: completing
-- Whether an application's transaction is completing the delivery that begins with this item. turno.complete holds the
-- lock until its transaction ends. Looks the lock up instead of trying it, because trying it would block the
-- application.
select exists (
    select from pg_locks l
    where l.locktype = 'advisory' and l.classid = 1953854064::oid and l.objid = ($1::bigint & 2147483647)::int::oid
        and l.objsubid = 2 and l.granted
        and l.database = (select d.oid from pg_database d where d.datname = current_database())
)
