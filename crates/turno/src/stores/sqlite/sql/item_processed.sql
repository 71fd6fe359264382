-- name: item_processed
-- Scans the finished items of all queues by seq. Most are processed, and an index for them would cost every ack.
select body.seq, body.queue, body.id, body.key, body.action,
    iif(octet_length(body.payload) <= ?4, body.payload, 'null'), body.enqueued_at, octet_length(body.payload),
    (select sum(octet_length(error)) from attempt_error where attempt_error.seq = body.seq)
from done not indexed
cross join body on body.seq = done.seq
where done.queue = ?1 and done.ended = 0 and done.seq > ?2
order by done.seq
limit ?3
