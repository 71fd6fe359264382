-- name: check_finished_twice
-- Q4: A finished item is not also unfinished.
select json_object('queue', q.name, 'item', b.id, 'place', h.seq, 'problem', 'finished_twice'),
       h.queue, h.lane, h.seq
from hot h
join done d on d.seq = h.seq
join queue q on q.id = h.queue
left join body b on b.seq = h.seq
order by h.seq
limit ?1
