-- name: hot_next
-- The first item of a lane that is not in this delivery and may become the head.
select {hot}
from hot
where queue = ?1 and lane = ?2 and (fence <> ?3 or expires_at is null)
order by seq
limit 1
