-- name: hot_count
-- Unfinished items by state: pending, in process, error, exhausted. The rule is Item::state, after Item::lapsed. The
-- last column is since when the oldest item waits. As in queue_busy, three indexes together cover every item once:
-- heads, handed-out items (of all queues, but they are few), and the rest of the lanes.
with unfinished (expires_at, last, attempt, parked, changed, enqueued_at, attempts) as (
    select expires_at, last, attempt, parked, revision > handed, enqueued_at, 0 from hot where queue = ?1 and ready_at is not null
    union all
    select expires_at, last, attempt, parked, revision > handed, enqueued_at,
        (select policy ->> 'max_attempts' from queue where id = ?1)
    from hot where queue = ?1 and expires_at > 0
    union all
    select expires_at, last, attempt, parked, revision > handed, enqueued_at, 0 from hot
    where queue = ?1 and lane is not null and ready_at is null and expires_at is null
)
select
    coalesce(sum(not parked and iif(expires_at is null, not (last = 1 or (last in (2, 3) and attempt > 0)), changed)), 0),
    coalesce(sum(not parked and not changed and expires_at > ?2), 0),
    coalesce(sum(not parked and iif(expires_at is null, last = 1 or (last in (2, 3) and attempt > 0), not changed and expires_at <= ?2 and attempt < attempts)), 0),
    coalesce(sum(parked or coalesce(not changed and expires_at <= ?2 and attempt >= attempts, 0)), 0),
    min(iif(parked or (expires_at is not null and not changed and (expires_at > ?2 or attempt >= attempts)), null, enqueued_at))
from unfinished
