-- name: typing_read
select u.lane, t.at
from unnest($2::bigint[]) as u (lane)
cross join lateral (
    select y.at from turno.typing y where y.queue = $1::int and y.lane = u.lane limit 1
) t
