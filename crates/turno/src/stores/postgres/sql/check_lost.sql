-- name: check_lost
-- Q5: Every accepted item is unfinished or finished; no item disappears.
select json_build_object('queue', q.name, 'item', x.item, 'place', x.seq, 'problem', x.problem)::text,
       x.queue, x.lane, x.seq
from (
    select b.seq, b.queue, null::bigint as lane, b.id as item, 'no_row' as problem
    from turno.body b
    left join turno.hot h on h.seq = b.seq
    left join turno.done d on d.seq = b.seq
    where h.seq is null and d.seq is null
    union all
    select h.seq, h.queue, h.lane, null, 'no_contents' from turno.hot h
    left join turno.body b on b.seq = h.seq where b.seq is null
    union all
    select d.seq, d.queue, null, null, 'finished_without_contents' from turno.done d
    left join turno.body b on b.seq = d.seq where b.seq is null
) x
join turno.queue q on q.id = x.queue
order by x.seq
limit $1::bigint
