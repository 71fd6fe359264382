-- name: hot_heads
-- Due heads in the order of hand-out, from hot_ready. octet_length reads only the header of a long payload.
select {hot}, (select octet_length(body.payload) from body where body.seq = hot.seq)
from hot
where queue = ?1 and ready_at <= ?2
order by ready_at, seq
limit ?3
