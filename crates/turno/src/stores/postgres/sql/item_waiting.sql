-- name: item_waiting
-- Pending or failed items, scanning all unfinished ones by seq. The rule is Item::state, after Item::lapsed.
with page as materialized (
    select h.seq
    from turno.hot h
    where h.queue = $1::int and h.seq > $2::bigint and $3::text = case when h.parked then 'exhausted'
             when h.expires_at is null then case when h.last = 1 or (h.last in (2, 3) and h.attempt > 0) then 'error' else 'pending' end
             when h.revision > h.handed then 'pending'
             when h.expires_at > $4::bigint then 'in_process'
             when h.attempt >= (select (q.policy::jsonb ->> 'max_attempts')::int from turno.queue q where q.id = $1::int) then 'exhausted'
             else 'error' end
    order by h.seq
    limit $5::bigint
)
select b.seq, b.queue, b.id, b.key, b.action,
       case when octet_length(b.payload) <= $6::int then b.payload else 'null' end, b.enqueued_at,
       {h.hot},
       {d.done},
       octet_length(b.payload), (select sum(octet_length(e.error)) from turno.attempt_error e where e.seq = b.seq)
from page p
join turno.body b on b.seq = p.seq
left join turno.hot h on h.seq = b.seq
left join turno.done d on d.seq = b.seq
order by b.seq
