-- hot_read
select h.seq, h.queue, h.lane, h.enqueued_at, h.not_before, h.ready_at, h.expires_at, h.claimed_at,
       h.attempt, h.fence, h.grp, h.last, h.revision, h.handed, h.parked, h.holder, h.size
from turno.hot h
where h.seq = $1::bigint
for update
