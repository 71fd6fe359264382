-- name: item_exhausted
-- Items parked in their lanes (hot_parked), finished as exhausted (done_unacked), or handed out for the last time and
-- expired but not settled yet (hot_expiry). The rule is Item::lapsed.
with page as materialized (
    (select h.seq from turno.hot h where h.queue = $1::int and h.parked and h.seq > $2::bigint order by h.seq limit $3::bigint)
    union all
    (select h.seq from turno.hot h
     where h.expires_at <= $4::bigint and h.queue = $1::int and h.seq > $2::bigint and not h.parked and h.revision <= h.handed
        and h.attempt >= (select (q.policy::jsonb ->> 'max_attempts')::int from turno.queue q where q.id = $1::int)
     order by h.seq limit $3::bigint)
    union all
    (select d.seq from turno.done d where d.queue = $1::int and d.ended = 1 and d.seq > $2::bigint order by d.seq limit $3::bigint)
    order by 1
    limit $3::bigint
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
