-- name: hot_front
-- The items of a lane from a seq on, from hot_lane.
select {hot}, (select octet_length(body.payload) from body where body.seq = hot.seq)
from hot
where queue = ?1 and lane = ?2 and seq >= ?3
order by seq
limit ?4
