-- claim_typing
select t.lane, t.at
from unnest($2::bigint[]) as u (lane)
join turno.typing t on t.queue = $1::int and t.lane = u.lane
