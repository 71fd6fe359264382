-- hot_count
-- Unfinished items by state: pending, in process, error, exhausted; the rule is Item::state. Last, since when the oldest one waits. As in queue_busy,
-- three indexes together hold every item once: heads, what is handed out (of all queues, which is little), and
-- the rest of the lanes.
with unfinished (expires_at, last, parked, changed, enqueued_at) as (
    select expires_at, last, parked, revision > handed, enqueued_at from hot where queue = ?1 and ready_at is not null
    union all
    select expires_at, last, parked, revision > handed, enqueued_at from hot where queue = ?1 and expires_at > 0
    union all
    select expires_at, last, parked, revision > handed, enqueued_at from hot
    where queue = ?1 and lane is not null and ready_at is null and expires_at is null
)
select
    coalesce(sum(not parked and iif(expires_at is null, last not in (1, 3), changed)), 0),
    coalesce(sum(not parked and not changed and expires_at > ?2), 0),
    coalesce(sum(not parked and iif(expires_at is null, last in (1, 3), not changed and expires_at <= ?2)), 0),
    coalesce(sum(parked), 0),
    min(iif(parked or (not changed and coalesce(expires_at > ?2, 0)), null, enqueued_at))
from unfinished
