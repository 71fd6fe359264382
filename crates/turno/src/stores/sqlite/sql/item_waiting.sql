-- name: item_waiting
-- Pending or failed items, scanning all unfinished ones by seq. The rule is Item::state, after Item::lapsed.
select body.seq, body.queue, body.id, body.key, body.action,
    iif(octet_length(body.payload) <= ?6, body.payload, 'null'), body.enqueued_at, octet_length(body.payload),
    (select sum(octet_length(error)) from attempt_error where attempt_error.seq = body.seq)
from hot not indexed
cross join body on body.seq = hot.seq
where hot.queue = ?1 and hot.seq > ?2 and ?3 = case
    when hot.parked then 'exhausted'
    when hot.expires_at is null then iif(hot.last = 1 or (hot.last in (2, 3) and hot.attempt > 0), 'error', 'pending')
    when hot.revision > hot.handed then 'pending'
    when hot.expires_at > ?4 then 'in_process'
    when hot.attempt >= (select policy ->> 'max_attempts' from queue where id = ?1) then 'exhausted'
    else 'error' end
order by hot.seq
limit ?5
