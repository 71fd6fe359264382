-- name: item_of_key
-- Uses body_key; a state filter is checked item by item. The rule is Item::state, after Item::lapsed.
select body.seq, body.queue, body.id, body.key, body.action,
    iif(octet_length(body.payload) <= ?7, body.payload, 'null'), body.enqueued_at, octet_length(body.payload),
    (select sum(octet_length(error)) from attempt_error where attempt_error.seq = body.seq)
from body indexed by body_key
left join hot on hot.seq = body.seq
left join done on done.seq = body.seq
where body.queue = ?1 and body.key = ?2 and body.seq > ?3
    and (?4 is null or ?4 = case
        when done.ended = 0 then 'processed'
        when done.ended = 1 or hot.parked then 'exhausted'
        when done.ended = 2 then 'cancelled'
        when hot.expires_at is null then iif(hot.last = 1 or (hot.last in (2, 3) and hot.attempt > 0), 'error', 'pending')
        when hot.revision > hot.handed then 'pending'
        when hot.expires_at > ?5 then 'in_process'
        when hot.attempt >= (select policy ->> 'max_attempts' from queue where id = ?1) then 'exhausted'
        else 'error' end)
order by body.seq
limit ?6
