-- name: hot_heads
-- Due heads in the order of hand-out, from hot_ready.
select {hot}
from hot
where queue = ?1 and ready_at <= ?2
order by ready_at, seq
limit ?3
