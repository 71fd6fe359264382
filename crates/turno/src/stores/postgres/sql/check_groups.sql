-- name: check_groups
-- Q10: A delivery in process has as many items as it was handed out with; otherwise it can neither be settled nor
-- expire.
select json_build_object('queue', q.name, 'key', min(b.key), 'lane', h.lane, 'place', min(h.seq),
           'problem', 'group_size', 'fence', h.fence, 'size', max(coalesce(h.size, 1)), 'count', count(*))::text,
       h.queue, h.lane, min(h.seq)
from turno.hot h
join turno.queue q on q.id = h.queue
left join turno.body b on b.seq = h.seq
where h.expires_at is not null and not h.parked
group by h.queue, h.lane, h.fence, q.name
having min(coalesce(h.size, 1)) <> count(*) or max(coalesce(h.size, 1)) <> count(*)
order by h.queue, h.lane, h.fence
limit $1::bigint
