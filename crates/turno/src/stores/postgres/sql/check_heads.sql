-- name: check_heads
-- Q1: A lane has one head, its first item; a second or a later head could overtake it. An exhausted item of a sync
-- queue does not hold its lane, so it does not count.
select json_build_object('queue', x.name, 'key', x.key, 'lane', x.lane, 'count', x.heads,
           'problem', case when x.heads > 1 then 'several_heads' else 'head_not_first' end)::text,
       x.queue, x.lane, null::bigint
from (
    select h.queue, h.lane, q.name, min(b.key) as key, count(h.ready_at) as heads, count(h.expires_at) as handed,
           min(case when h.ready_at is not null then h.seq end) as head,
           min(case when not (h.parked and q.kind = 'sync') then h.seq end) as first
    from turno.hot h
    join turno.queue q on q.id = h.queue
    left join turno.body b on b.seq = h.seq
    where h.lane is not null
    group by h.queue, h.lane, q.name
) x
where x.heads > 1 or (x.heads = 1 and x.handed = 0 and x.head is distinct from x.first)
order by x.queue, x.lane
limit $1::bigint
