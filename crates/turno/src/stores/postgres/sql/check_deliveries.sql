-- name: check_deliveries
-- Q2: At most one delivery of a lane is handed out, and meanwhile none is ready.
select json_build_object('queue', q.name, 'key', min(b.key), 'lane', h.lane, 'problem', 'several_deliveries',
           'count', count(distinct case when h.expires_at is not null then h.fence else -h.seq end))::text,
       h.queue, h.lane, null::bigint
from turno.hot h
join turno.queue q on q.id = h.queue
left join turno.body b on b.seq = h.seq
where h.lane is not null and (h.expires_at is not null or h.ready_at is not null)
group by h.queue, h.lane, q.name
having count(distinct case when h.expires_at is not null then h.fence else -h.seq end) > 1
    and count(h.expires_at) > 0
order by h.queue, h.lane
limit $1::bigint
