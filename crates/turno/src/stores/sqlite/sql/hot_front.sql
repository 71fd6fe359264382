-- hot_front
-- The items of a lane from a seq on, from hot_lane.
select seq, queue, lane, enqueued_at, not_before, ready_at, expires_at, claimed_at, attempt, fence, grp, last,
    revision, handed, parked, holder, size
from hot
where queue = ?1 and lane = ?2 and seq >= ?3
order by seq
limit ?4
