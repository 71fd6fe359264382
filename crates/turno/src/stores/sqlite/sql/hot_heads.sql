-- hot_heads
-- Due heads in the order of hand-out, from hot_ready.
select seq, queue, lane, enqueued_at, not_before, ready_at, expires_at, claimed_at, attempt, fence, grp, last,
    revision, handed, parked, holder, size
from hot
where queue = ?1 and ready_at <= ?2
order by ready_at, seq
limit ?3
