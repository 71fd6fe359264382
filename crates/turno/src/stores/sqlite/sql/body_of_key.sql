-- body_of_key
-- From body_key; the state, if one is asked for, is compared item by item. The rule is Item::state.
select body.seq, body.queue, body.id, body.key, body.action, body.payload, body.enqueued_at
from body indexed by body_key
left join hot on hot.seq = body.seq
left join done on done.seq = body.seq
where body.queue = ?1 and body.key = ?2 and body.seq > ?3
    and (?4 is null or ?4 = case
        when done.ended = 0 then 'processed'
        when done.ended = 1 or hot.parked then 'exhausted'
        when done.ended = 2 then 'cancelled'
        when hot.expires_at is null then iif(hot.last in (1, 3), 'error', 'pending')
        when hot.revision > hot.handed then 'pending'
        else iif(hot.expires_at > ?5, 'in_process', 'error') end)
order by body.seq
limit ?6
