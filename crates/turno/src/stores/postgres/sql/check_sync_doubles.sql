-- name: check_sync_doubles
-- S3: A sync queue has at most one unfinished item per key.
select json_build_object('queue', q.name, 'key', b.key, 'problem', 'sync_doubles', 'count', count(*))::text,
       h.queue, min(h.lane), min(h.seq)
from turno.hot h
join turno.body b on b.seq = h.seq
join turno.queue q on q.id = h.queue and q.kind = 'sync'
group by h.queue, q.name, b.key
having count(*) > 1
order by q.name, b.key
limit $1::bigint
