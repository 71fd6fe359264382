-- name: check_positions
-- V1: Positions of events are consecutive, because listeners cannot detect a hole.
select json_build_object('position', x.before, 'problem', 'gap', 'next', x.pos)::text
from (
    select e.pos as pos, lag(e.pos) over (order by e.pos) as before from turno.event_log e
) x
where x.pos <> x.before + 1
order by x.pos
limit $1::bigint
