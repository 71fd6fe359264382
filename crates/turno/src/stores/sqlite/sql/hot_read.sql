-- hot_read
select seq, queue, lane, enqueued_at, not_before, ready_at, expires_at, claimed_at, attempt, fence, grp, last,
    revision, handed, parked, holder, size
from hot
where seq = ?1
