-- name: hot_members
-- Groups of a lane, under its lock. The first item is found by the primary key before the lane is read, so that a stale
-- fence or a wrong size costs one lookup. A re-queued item may stand between the others, so a plain range does not
-- suffice. `expires_at` is not a condition, because then the planner would choose its index while nothing is handed
-- out.
select u.n, {m.hot}, b.id
from unnest($1::int[], $2::int[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::boolean[])
    as u (n, queue, lane, seq, fence, size, named)
join turno.hot f on f.seq = u.seq and f.queue = u.queue and f.lane = u.lane
    and f.fence = u.fence and coalesce(f.size, 1) = u.size
cross join lateral (
    select {h.hot}
    from turno.hot h
    where h.queue = u.queue and h.lane = u.lane and h.seq >= u.seq
        and h.fence = u.fence
    order by h.seq
    limit u.size
) m
left join turno.body b on b.seq = case when u.named then m.seq end
