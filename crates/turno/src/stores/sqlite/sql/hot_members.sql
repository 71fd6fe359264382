-- name: hot_members
-- The items of a delivery in a lane. They stand together, so the limit ends the search. A re-queued item between them
-- has another fence.
select {hot}
from hot
where queue = ?1 and lane = ?2 and seq >= ?3 and fence = ?4 and expires_at is not null
order by seq
limit ?5
