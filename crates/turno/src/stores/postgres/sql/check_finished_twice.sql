-- name: check_finished_twice
-- Q4: A finished item is not also unfinished.
select json_build_object('queue', q.name, 'item', b.id, 'place', h.seq, 'problem', 'finished_twice')::text,
       h.queue, h.lane, h.seq
from turno.hot h
join turno.done d on d.seq = h.seq
join turno.queue q on q.id = h.queue
left join turno.body b on b.seq = h.seq
order by h.seq
limit $1::bigint
