-- name: lane_names
select distinct h.lane
from turno.hot h
where h.queue = $1::int and h.lane >= $2::bigint and not h.parked
order by h.lane
limit $3::bigint
