-- name: intake_read
-- Sent after the lock, so that rows that another process has taken in meanwhile are gone. Rows of the intake ($1) and
-- marks of a queue ($2), which are found by transaction ($3) and number ($4). A mark has no id: it is derived from the
-- mark, in the same way as in the view of the source (sync/view.sql).
select i.n, i.at, i.queue, i.id, i.given, i.key, i.action, i.payload, i.delay_ms, i.seq, i.lane, i.size, i.fence
from unnest($1::bigint[]) as u (n)
join turno.intake i on i.n = u.n
union all
select k.n, floor(extract(epoch from k.at) * 1000)::bigint, k.queue,
       md5(concat_ws(' ', k.xid, k.n, extract(epoch from k.at)))::uuid::text,
       false, k.key, null, 'null', 0, null, null, null, null
from unnest($3::bigint[], $4::bigint[]) as u (xid, n)
join turno.sync_mark k on k.xid = u.xid::text::xid8 and k.queue = $2::int and k.n = u.n
order by 1
