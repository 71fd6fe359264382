-- name: check_deliveries
-- Q2: At most one delivery of a lane is handed out, and meanwhile none is ready.
select json_object('queue', q.name, 'key', min(b.key), 'lane', h.lane, 'problem', 'several_deliveries',
           'count', count(distinct case when h.expires_at is not null then h.fence else -h.seq end)),
       h.queue, h.lane, null
from hot h
join queue q on q.id = h.queue
left join body b on b.seq = h.seq
where h.lane is not null and (h.expires_at is not null or h.ready_at is not null)
group by h.queue, h.lane, q.name
having count(distinct case when h.expires_at is not null then h.fence else -h.seq end) > 1
    and count(h.expires_at) > 0
order by h.queue, h.lane
limit ?1
