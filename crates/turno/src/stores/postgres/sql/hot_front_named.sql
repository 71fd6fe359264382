-- hot_front_named
-- Starts at the cached floor, because below it are only dead entries of finished items. They stay in the index while
-- any transaction is open.
select f.seq, f.queue, f.lane, f.enqueued_at, f.not_before, f.ready_at, f.expires_at, f.claimed_at,
       f.attempt, f.fence, f.grp, f.last, f.revision, f.handed, f.parked, f.holder, f.size, b.id, b.key
from unnest($1::int[], $2::bigint[], $3::bigint[], $4::bigint[]) as u (queue, lane, floor, size)
cross join lateral (
    select h.seq, h.queue, h.lane, h.enqueued_at, h.not_before, h.ready_at, h.expires_at, h.claimed_at,
           h.attempt, h.fence, h.grp, h.last, h.revision, h.handed, h.parked, h.holder, h.size
    from turno.hot h
    where h.queue = u.queue and h.lane = u.lane and h.seq >= u.floor
    order by h.seq
    limit u.size
) f
join turno.body b on b.seq = f.seq
