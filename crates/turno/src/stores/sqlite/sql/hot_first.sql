-- hot_first
-- The first item of a delivery, if it is still handed out under this fence.
select seq, queue, lane, enqueued_at, not_before, ready_at, expires_at, claimed_at, attempt, fence, grp, last,
    revision, handed, parked, holder, size
from hot
where seq = ?1 and queue = ?2 and lane is ?3 and fence = ?4 and expires_at is not null
