-- body_waiting
-- Pending or failed, by place among all unfinished ones. The rule is Item::state.
select body.seq, body.queue, body.id, body.key, body.action, body.payload, body.enqueued_at
from hot not indexed
cross join body on body.seq = hot.seq
where hot.queue = ?1 and hot.seq > ?2 and ?3 = case
    when hot.parked then 'exhausted'
    when hot.expires_at is null then iif(hot.last in (1, 3), 'error', 'pending')
    when hot.revision > hot.handed then 'pending'
    else iif(hot.expires_at > ?4, 'in_process', 'error') end
order by hot.seq
limit ?5
