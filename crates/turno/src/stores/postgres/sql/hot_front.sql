-- name: hot_front
select {f.hot},
       (select octet_length(b.payload) from turno.body b where b.seq = f.seq)
from unnest($2::bigint[], $3::bigint[]) as u (lane, seq)
cross join lateral (
    select {h.hot}
    from turno.hot h
    where h.queue = $1::int and h.lane = u.lane and h.seq >= u.seq
    order by h.seq
    limit $4::bigint
) f
