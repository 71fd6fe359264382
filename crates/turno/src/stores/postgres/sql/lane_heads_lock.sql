-- lane_heads_lock
-- A claim takes no mutex, it locks the head: whoever wants to change a head, or to count on the items behind it
-- staying where they are, locks it too. Then the fronts are read by a later statement.
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
