-- queue_counts
-- Read by a plain scan, for people and checks; nothing waits for it. A change that came while its item was
-- in process shows as pending, as does a hand-out whose time is over.
select count(*) filter (where not parked and not live and last <> 1),
       count(*) filter (where not parked and live),
       count(*) filter (where not parked and not live and last = 1),
       count(*) filter (where parked),
       (select count(*) from turno.done where queue = $1::int and ended = 0),
       (select count(*) from turno.done where queue = $1::int and ended = 1),
       (select count(*) from turno.done where queue = $1::int and ended = 2)
from (
    select parked, last, coalesce(expires_at > $2::bigint, false) as live
    from turno.hot
    where queue = $1::int
) h
