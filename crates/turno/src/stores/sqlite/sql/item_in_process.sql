-- name: item_in_process
-- Uses hot_expiry, which has only the handed-out items of all queues, and those are few. The rule is Item::state.
select body.seq, body.queue, body.id, body.key, body.action,
    iif(octet_length(body.payload) <= ?5, body.payload, 'null'), body.enqueued_at, octet_length(body.payload),
    (select sum(octet_length(error)) from attempt_error where attempt_error.seq = body.seq)
from hot indexed by hot_expiry
cross join body on body.seq = hot.seq
where hot.expires_at > ?3 and hot.queue = ?1 and hot.seq > ?2 and hot.revision <= hot.handed and not hot.parked
order by hot.seq
limit ?4
