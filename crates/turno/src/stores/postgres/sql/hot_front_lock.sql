-- name: hot_front_lock
-- A claim does not lock the lane, it locks the head. So a transaction that changes a head, or relies on the items
-- behind it, locks the head too. A later statement reads the fronts.
with front as materialized (
    select f.seq
    from unnest($1::int[], $2::bigint[], $3::bigint[], $4::bigint[]) as u (queue, lane, floor, size)
    cross join lateral (
        select h.seq
        from turno.hot h
        where h.queue = u.queue and h.lane = u.lane and h.seq >= u.floor
        order by h.seq
        limit u.size
    ) f
)
select h.seq
from front f
join turno.hot h on h.seq = f.seq
where h.ready_at is not null
order by h.seq
for update of h
