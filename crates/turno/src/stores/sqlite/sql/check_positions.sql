-- name: check_positions
-- V1: Positions of events are consecutive, because listeners cannot detect a hole.
select json_object('position', x.before, 'problem', 'gap', 'next', x.pos)
from (
    select e.n as pos, lag(e.n) over (order by e.n) as before from event_in e
) x
where x.pos <> x.before + 1
order by x.pos
limit ?1
