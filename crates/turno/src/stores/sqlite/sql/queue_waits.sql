-- name: queue_waits
-- How long items acked after ?2 waited and took: any of them, up to a bound. Uses done_age.
select done.handed_at - body.enqueued_at, done.at - body.enqueued_at
from done cross join body on body.seq = done.seq
where done.queue = ?1 and done.at > ?2 and done.ended = 0 and done.handed_at is not null
limit ?3
