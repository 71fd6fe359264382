-- name: check_lost
-- Q5: Every accepted item is unfinished or finished; no item disappears.
select 'queue ' || q.name || x.which, x.what, x.queue, x.lane, x.seq
from (
    select b.seq, b.queue, null as lane, ', item ' || b.id as which,
           'it was accepted and is neither unfinished nor finished' as what
    from body b
    left join hot h on h.seq = b.seq
    left join done d on d.seq = b.seq
    where h.seq is null and d.seq is null
    union all
    select h.seq, h.queue, h.lane, ', place ' || h.seq, 'it is unfinished and carries nothing' from hot h
    left join body b on b.seq = h.seq where b.seq is null
    union all
    select d.seq, d.queue, null, ', place ' || d.seq, 'it is finished and carries nothing' from done d
    left join body b on b.seq = d.seq where b.seq is null
) x
join queue q on q.id = x.queue
order by x.seq
limit ?1
