-- name: lane_names
select distinct lane
from hot
where queue = ?1 and lane >= ?2 and not parked
order by lane
limit ?3
