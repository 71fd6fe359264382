-- name: hot_front_named
-- Starts at the cached floor, because below it are only dead entries of finished items. They stay in the index while
-- any transaction is open.
select {f.hot}, b.id, b.key, octet_length(b.payload)
from unnest($1::int[], $2::bigint[], $3::bigint[], $4::bigint[]) as u (queue, lane, floor, size)
cross join lateral (
    select {h.hot}
    from turno.hot h
    where h.queue = u.queue and h.lane = u.lane and h.seq >= u.floor
    order by h.seq
    limit u.size
) f
join turno.body b on b.seq = f.seq
