-- queue_counts
-- Read by a plain scan, for people and checks; nothing waits for it. The rule is Item::state: a change that came
-- while its item was in process shows as pending, a hand-out whose time is over as an error. The last column: since when the oldest
-- one waits.
select count(*) filter (where not parked and case when expires_at is null then last not in (1, 3) else changed end),
       count(*) filter (where not parked and not changed and expires_at > $2::bigint),
       count(*) filter (where not parked and case when expires_at is null then last in (1, 3)
                                                  else not changed and expires_at <= $2::bigint end),
       count(*) filter (where parked),
       (select count(*) from turno.done where queue = $1::int and ended = 0),
       (select count(*) from turno.done where queue = $1::int and ended = 1),
       (select count(*) from turno.done where queue = $1::int and ended = 2),
       min(enqueued_at) filter (where not parked and (not changed and expires_at > $2::bigint) is not true)
from (
    select parked, last, expires_at, enqueued_at, revision > handed as changed
    from turno.hot
    where queue = $1::int
) h
