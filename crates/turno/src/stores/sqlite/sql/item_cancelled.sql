-- name: item_cancelled
-- Uses the index done_unacked.
select body.seq, body.queue, body.id, body.key, body.action,
    iif(octet_length(body.payload) <= ?4, body.payload, 'null'), body.enqueued_at, octet_length(body.payload),
    (select sum(octet_length(error)) from attempt_error where attempt_error.seq = body.seq)
from done
cross join body on body.seq = done.seq
where done.queue = ?1 and done.ended <> 0 and done.ended = 2 and done.seq > ?2
order by done.seq
limit ?3
