-- check_stuck
-- Q14: A lane with work has a head that may run or is handed out, unless it waits for a person; so has every item without a lane.
select x.what, 'nothing of it may ever run'
from (
    select 'queue ' || h.queue || ', lane ' || h.lane as what
    from hot h
    where h.lane is not null
    group by h.queue, h.lane
    having count(h.ready_at) = 0 and count(h.expires_at) = 0 and count(case when h.parked then 1 end) = 0
    union all
    select 'item ' || h.seq
    from hot h
    where h.lane is null and h.ready_at is null and h.expires_at is null and not h.parked
) x
order by x.what
limit ?1
