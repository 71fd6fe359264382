-- name: item_cancelled
-- Uses the index done_unacked.
select body.seq, body.queue, body.id, body.key, body.action, body.payload, body.enqueued_at
from done
cross join body on body.seq = done.seq
where done.queue = ?1 and done.ended <> 0 and done.ended = 2 and done.seq > ?2
order by done.seq
limit ?3
