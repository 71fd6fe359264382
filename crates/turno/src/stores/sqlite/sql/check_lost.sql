-- name: check_lost
-- Q5: Every accepted item is unfinished or finished; no item disappears.
select json_object('queue', q.name, 'item', x.item, 'place', x.seq, 'problem', x.problem),
       x.queue, x.lane, x.seq
from (
    select b.seq, b.queue, null as lane, b.id as item, 'no_row' as problem
    from body b
    left join hot h on h.seq = b.seq
    left join done d on d.seq = b.seq
    where h.seq is null and d.seq is null
    union all
    select h.seq, h.queue, h.lane, null, 'no_contents' from hot h
    left join body b on b.seq = h.seq where b.seq is null
    union all
    select d.seq, d.queue, null, null, 'finished_without_contents' from done d
    left join body b on b.seq = d.seq where b.seq is null
) x
join queue q on q.id = x.queue
order by x.seq
limit ?1
