-- name: item_list
select b.seq, b.queue, b.id, b.key, b.action,
       case when octet_length(b.payload) <= $4::int then b.payload else 'null' end, b.enqueued_at,
       {h.hot},
       {d.done},
       octet_length(b.payload), (select sum(octet_length(e.error)) from turno.attempt_error e where e.seq = b.seq)
from turno.body b
left join turno.hot h on h.seq = b.seq
left join turno.done d on d.seq = b.seq
where b.queue = $1::int and b.seq > $2::bigint
order by b.seq
limit $3::bigint
