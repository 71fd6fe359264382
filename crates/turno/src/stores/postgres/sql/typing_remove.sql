-- name: typing_remove
delete from turno.typing t
using unnest($1::int[], $2::bigint[]) as u (queue, lane)
where t.queue = u.queue and t.lane = u.lane
