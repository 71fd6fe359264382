-- name: sync_mark_remove
-- Marks of a queue ($1) that were taken in, found by transaction ($2) and number ($3).
delete from turno.sync_mark k
using unnest($2::bigint[], $3::bigint[]) as u (xid, n)
where k.xid = u.xid::text::xid8 and k.queue = $1::int and k.n = u.n
