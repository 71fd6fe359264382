-- check_heads
-- Q1: A lane has one head that may run; two could overtake each other.
select 'queue ' || h.queue || ', lane ' || h.lane, count(*) || ' items may run'
from turno.hot h
where h.lane is not null and h.ready_at is not null
group by h.queue, h.lane
having count(*) > 1
order by h.queue, h.lane
limit $1::bigint
