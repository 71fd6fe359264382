-- name: lane_locks
-- Counts lanes with a live delivery, with waiting items, and with either, by a sequential scan of the unfinished items.
select count(*) filter (where l.live), count(*) filter (where l.waits), count(*) filter (where l.live or l.waits)
from (
    select bool_or(h.expires_at > $1::bigint) as live,
           bool_or(not h.parked and (h.expires_at is null or h.expires_at <= $1::bigint)) as waits
    from turno.queue q
    join turno.hot h on h.queue = q.id
    where q.kind = 'lane' and h.lane is not null
    group by h.queue, h.lane
) l
