-- event_list
-- Positions become visible in order, so nothing can appear later behind a position that was read.
select e.pos, e.topic, e.name, e.resource, e.at, e.fence, e.by_user, e.detail
from turno.event_log e
where e.pos > $1::bigint
order by e.pos
limit $2::bigint
