-- name: item_read
select b.seq, b.queue, b.id, b.key, b.action, b.payload, b.enqueued_at,
       {h.hot},
       {d.done},
       octet_length(b.payload)
from turno.body b
left join turno.hot h on h.seq = b.seq
left join turno.done d on d.seq = b.seq
where b.queue = $1::int and b.id = $2::text
