-- check_lost
-- Q5: Everything that was accepted is unfinished or finished; nothing disappears.
select 'item ' || x.seq, x.what
from (
    select b.seq, 'it was accepted and is neither unfinished nor finished' as what
    from body b
    left join hot h on h.seq = b.seq
    left join done d on d.seq = b.seq
    where h.seq is null and d.seq is null
    union all
    select h.seq, 'it is unfinished and carries nothing' from hot h
    left join body b on b.seq = h.seq where b.seq is null
    union all
    select d.seq, 'it is finished and carries nothing' from done d
    left join body b on b.seq = d.seq where b.seq is null
) x
order by x.seq
limit ?1
