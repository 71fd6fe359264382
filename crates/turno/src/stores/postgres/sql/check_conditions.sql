-- check_conditions
-- Q8: An unfinished item is ready, waiting, handed out or parked, and only one of these; handed out means with a fence, and
-- with an attempt unless a newer change waits behind it.
select 'item ' || h.seq, 'its condition contradicts itself'
from turno.hot h
where (h.ready_at is not null and h.expires_at is not null)
    or (h.parked and (h.ready_at is not null or h.expires_at is not null))
    or (h.expires_at is not null and (h.fence = 0 or (h.attempt = 0 and h.revision <= h.handed)))
order by h.seq
limit $1::bigint
