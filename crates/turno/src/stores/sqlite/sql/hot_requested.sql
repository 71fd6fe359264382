-- hot_requested
-- What was handed out before to the claim of this request id, and is not settled: the fence is compared here.
select seq, queue, lane, enqueued_at, not_before, ready_at, expires_at, claimed_at, attempt, fence, grp, last,
    revision, handed, parked, holder, size
from hot
where queue = ?1 and request = ?2 and request_fence = fence and holder = ?3 and expires_at is not null
