-- name: hot_next
-- The first item of the lane after the delivery ends. The delivery's own items stand at the front, so this reads at
-- most one row more than they are, starting at the cached floor.
select u.n, {x.hot}
from unnest($1::int[], $2::int[], $3::bigint[], $4::bigint[], $5::bigint[]) as u (n, queue, lane, fence, floor)
cross join lateral (
    select {h.hot}
    from turno.hot h
    where h.queue = u.queue and h.lane = u.lane and h.seq >= u.floor
        and (h.fence <> u.fence or h.expires_at is null)
    order by h.seq
    limit 1
) x
