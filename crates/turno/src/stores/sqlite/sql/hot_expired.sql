-- hot_expired
-- Handed out and overdue, oldest first. The items of one delivery expire together, so they come together.
select queue, seq, lane, fence, expires_at
from hot
where expires_at <= ?1
order by expires_at, seq
