-- name: check_stuck
-- Q14: A lane with work has an item that is ready or handed out, unless its first item is exhausted and holds it. So
-- has every item without a lane. An exhausted item of a sync queue does not hold its lane, so it does not count.
select json_object('queue', x.name, 'key', x.key, 'item', x.item, 'lane', x.lane,
           'place', x.seq, 'problem', 'unreachable'),
       x.queue, x.lane, x.seq
from (
    select q.name, min(b.key) as key, null as item,
           h.queue, h.lane, null as seq
    from hot h
    join queue q on q.id = h.queue
    left join body b on b.seq = h.seq
    where h.lane is not null
    group by h.queue, h.lane, q.name
    having count(h.ready_at) = 0 and count(h.expires_at) = 0
        and min(case when not (h.parked and q.kind = 'sync') then h.seq end)
            is not min(case when h.parked and q.kind <> 'sync' then h.seq end)
    union all
    select q.name, null, b.id, h.queue, h.lane, h.seq
    from hot h
    join queue q on q.id = h.queue
    left join body b on b.seq = h.seq
    where h.lane is null and h.ready_at is null and h.expires_at is null and not h.parked
) x
order by x.queue, x.lane, x.seq
limit ?1
