-- name: sync_mark_refuse
-- As intake_refuse, for a mark of a queue ($1), which is found by transaction ($2) and number ($3).
with gone as (
    delete from turno.sync_mark k
    where k.xid = $2::bigint::text::xid8 and k.queue = $1::int and k.n = $3::bigint
    returning k.n, floor(extract(epoch from k.at) * 1000)::bigint as at, k.queue, k.key
)
insert into turno.intake_refused (n, kind, at, queue, key, delay_ms, error)
select g.n, 'enqueue', g.at, g.queue, g.key, 0, $4::text
from gone g
