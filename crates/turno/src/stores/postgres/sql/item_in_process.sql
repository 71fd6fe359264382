-- name: item_in_process
-- Uses hot_expiry, which has only the handed-out items of all queues, and those are few. The rule is Item::state.
with live as materialized (
    select h.seq, h.queue, h.revision, h.handed, h.parked from turno.hot h where h.expires_at > $3::bigint
), page as materialized (
    select l.seq
    from live l
    where l.queue = $1::int and l.seq > $2::bigint and l.revision <= l.handed and not l.parked
    order by l.seq
    limit $4::bigint
)
select b.seq, b.queue, b.id, b.key, b.action,
       case when octet_length(b.payload) <= $5::int then b.payload else 'null' end, b.enqueued_at,
       {h.hot},
       {d.done},
       octet_length(b.payload), (select sum(octet_length(e.error)) from turno.attempt_error e where e.seq = b.seq)
from page p
join turno.body b on b.seq = p.seq
left join turno.hot h on h.seq = b.seq
left join turno.done d on d.seq = b.seq
order by b.seq
