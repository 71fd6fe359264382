-- name: lane_locks
-- Counts lanes with a live delivery, with waiting items, and with either. Reads the lanes of each queue from hot_lane.
select
    coalesce(sum(live), 0),
    coalesce(sum(waits), 0),
    coalesce(sum(max(live, waits)), 0)
from (
    select
        max(coalesce(hot.expires_at > ?1, 0)) as live,
        max(not hot.parked and (hot.expires_at is null or hot.expires_at <= ?1)) as waits
    from queue
    cross join hot on hot.queue = queue.id and hot.lane is not null
    where queue.kind = 'lane'
    group by hot.queue, hot.lane
)
