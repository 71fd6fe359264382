-- name: item_of_key
-- Uses body_key; a state filter is checked item by item. The rule is Item::state, after Item::lapsed.
select b.seq, b.queue, b.id, b.key, b.action,
       case when octet_length(b.payload) <= $7::int then b.payload else 'null' end, b.enqueued_at,
       {h.hot},
       {d.done},
       octet_length(b.payload), (select sum(octet_length(e.error)) from turno.attempt_error e where e.seq = b.seq)
from turno.body b
left join turno.hot h on h.seq = b.seq
left join turno.done d on d.seq = b.seq
where b.queue = $1::int and b.key = $2::text and b.seq > $3::bigint
    and ($4::text is null or $4::text = case
             when d.seq is not null then (array['processed', 'exhausted', 'cancelled'])[d.ended + 1]
             when h.parked then 'exhausted'
             when h.expires_at is null then case when h.last = 1 or (h.last in (2, 3) and h.attempt > 0) then 'error' else 'pending' end
             when h.revision > h.handed then 'pending'
             when h.expires_at > $5::bigint then 'in_process'
             when h.attempt >= (select (q.policy::jsonb ->> 'max_attempts')::int from turno.queue q where q.id = $1::int) then 'exhausted'
             else 'error' end)
order by b.seq
limit $6::bigint
