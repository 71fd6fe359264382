-- name: hot_expired
-- Expired deliveries, oldest first. The items of one delivery expire at the same instant, so they are adjacent.
select queue, seq, lane, fence, expires_at
from hot
where expires_at <= ?1
order by expires_at, seq
