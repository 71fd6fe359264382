-- name: queue_counts
-- Uses a sequential scan, for people and checks. The rule is Item::state, after Item::lapsed: a change that arrived
-- while its item was in process counts as pending, and an expired delivery as an error, or as exhausted if it was the
-- last attempt. The last column is since when the oldest item waits.
select count(*) filter (where not parked and case when expires_at is null then not failed else changed end),
       count(*) filter (where not parked and not changed and expires_at > $2::bigint),
       count(*) filter (where not parked and case when expires_at is null then failed
                                                  else not changed and expires_at <= $2::bigint and not spent end),
       count(*) filter (where parked or not changed and expires_at <= $2::bigint and spent),
       (select count(*) from turno.done where queue = $1::int and ended = 0),
       (select count(*) from turno.done where queue = $1::int and ended = 1),
       (select count(*) from turno.done where queue = $1::int and ended = 2),
       min(enqueued_at) filter (where not parked and (not changed and (expires_at > $2::bigint or expires_at is not null and spent)) is not true)
from (
    select parked, last = 1 or (last in (2, 3) and attempt > 0) as failed, expires_at, enqueued_at, revision > handed as changed,
           attempt >= (select (q.policy::jsonb ->> 'max_attempts')::int from turno.queue q where q.id = $1::int) as spent
    from turno.hot
    where queue = $1::int
) h
