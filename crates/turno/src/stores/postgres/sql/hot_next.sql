-- hot_next
-- The first item of the lane after the delivery ends. The delivery's own items stand at the front, so this reads at
-- most one row more than they are, starting at the cached floor.
select u.n, x.seq, x.queue, x.lane, x.enqueued_at, x.not_before, x.ready_at, x.expires_at, x.claimed_at,
       x.attempt, x.fence, x.grp, x.last, x.revision, x.handed, x.parked, x.holder, x.size
from unnest($1::int[], $2::int[], $3::bigint[], $4::bigint[], $5::bigint[]) as u (n, queue, lane, fence, floor)
cross join lateral (
    select h.seq, h.queue, h.lane, h.enqueued_at, h.not_before, h.ready_at, h.expires_at, h.claimed_at,
           h.attempt, h.fence, h.grp, h.last, h.revision, h.handed, h.parked, h.holder, h.size
    from turno.hot h
    where h.queue = u.queue and h.lane = u.lane and h.seq >= u.floor
        and (h.fence <> u.fence or h.expires_at is null)
    order by h.seq
    limit 1
) x
