-- name: hot_front
-- The items of a lane from a seq on, from hot_lane.
select {hot}
from hot
where queue = ?1 and lane = ?2 and seq >= ?3
order by seq
limit ?4
