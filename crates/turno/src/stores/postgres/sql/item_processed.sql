-- name: item_processed
-- Scans the finished items of all queues by seq. Most are processed, and an index for them would cost every ack.
with page as materialized (
    select d.seq from turno.done d where d.queue = $1::int and d.ended = 0 and d.seq > $2::bigint order by d.seq limit $3::bigint
)
select b.seq, b.queue, b.id, b.key, b.action,
       case when octet_length(b.payload) <= $4::int then b.payload else 'null' end, b.enqueued_at,
       {h.hot},
       {d.done},
       octet_length(b.payload), (select sum(octet_length(e.error)) from turno.attempt_error e where e.seq = b.seq)
from page p
join turno.body b on b.seq = p.seq
left join turno.hot h on h.seq = b.seq
left join turno.done d on d.seq = b.seq
order by b.seq
