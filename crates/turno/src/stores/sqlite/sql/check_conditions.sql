-- name: check_conditions
-- Q8: An unfinished item is exactly one of ready, waiting, handed out or parked. A handed-out item has a fence, and an
-- attempt unless a newer change waits behind it.
select json_object('queue', q.name, 'item', b.id, 'place', h.seq, 'problem', 'contradiction'),
       h.queue, h.lane, h.seq
from hot h
join queue q on q.id = h.queue
left join body b on b.seq = h.seq
where (h.ready_at is not null and h.expires_at is not null)
    or (h.parked and (h.ready_at is not null or h.expires_at is not null))
    or (h.expires_at is not null and (h.fence = 0 or (h.attempt = 0 and h.revision <= h.handed)))
order by h.seq
limit ?1
