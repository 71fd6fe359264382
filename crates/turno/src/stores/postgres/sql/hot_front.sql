-- hot_front
select f.seq, f.queue, f.lane, f.enqueued_at, f.not_before, f.ready_at, f.expires_at, f.claimed_at,
       f.attempt, f.fence, f.grp, f.last, f.revision, f.handed, f.parked, f.holder, f.size
from unnest($2::bigint[], $3::bigint[]) as u (lane, seq)
cross join lateral (
    select h.seq, h.queue, h.lane, h.enqueued_at, h.not_before, h.ready_at, h.expires_at, h.claimed_at,
           h.attempt, h.fence, h.grp, h.last, h.revision, h.handed, h.parked, h.holder, h.size
    from turno.hot h
    where h.queue = $1::int and h.lane = u.lane and h.seq >= u.seq
    order by h.seq
    limit $4::bigint
) f
