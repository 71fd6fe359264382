-- name: queue_parked
-- Exhausted items that hold their lanes, in order. Uses hot_parked.
select body.id
from hot indexed by hot_parked
cross join body on body.seq = hot.seq
where hot.queue = ?1 and hot.parked
order by hot.seq
