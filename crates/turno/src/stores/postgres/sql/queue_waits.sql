-- name: queue_waits
-- How long items acked after $2 waited and took: any of them, up to a bound. Uses done_recent.
select d.handed_at - b.enqueued_at, d.at - b.enqueued_at
from turno.done d
join turno.body b on b.seq = d.seq
where d.at > $2::bigint and d.queue = $1::int and d.ended = 0 and d.handed_at is not null
limit $3::bigint
