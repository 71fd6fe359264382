-- hot_requested
-- Unsettled deliveries of an earlier claim with this request id. The fence must still match, because later hand-outs
-- leave the request columns as they are.
select seq, queue, lane, enqueued_at, not_before, ready_at, expires_at, claimed_at, attempt, fence, grp, last,
    revision, handed, parked, holder, size
from hot
where queue = ?1 and request = ?2 and request_fence = fence and holder = ?3 and expires_at is not null
