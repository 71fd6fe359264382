-- name: intake_refuse
with gone as (
    delete from turno.intake i
    where i.n = $1::bigint
    returning i.n, i.kind, i.at, i.queue, i.id, i.key, i.action, i.payload, i.delay_ms, i.seq, i.lane, i.size, i.fence
)
insert into turno.intake_refused
    (n, kind, at, queue, id, key, action, payload, delay_ms, seq, lane, size, fence, error)
select g.n, g.kind, g.at, g.queue, g.id, g.key, g.action, g.payload, g.delay_ms, g.seq, g.lane, g.size, g.fence, $2::text
from gone g
