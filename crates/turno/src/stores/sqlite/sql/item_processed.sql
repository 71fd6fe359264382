-- name: item_processed
-- Scans the finished items of all queues by seq. Most are processed, and an index for them would cost every ack.
select body.seq, body.queue, body.id, body.key, body.action, body.payload, body.enqueued_at
from done not indexed
cross join body on body.seq = done.seq
where done.queue = ?1 and done.ended = 0 and done.seq > ?2
order by done.seq
limit ?3
