-- claim_request
-- Sent after the lock. What was handed out to this claim before, and is not settled: the fence is compared here.
select h.seq, h.queue, h.lane, h.enqueued_at, h.not_before, h.ready_at, h.expires_at, h.claimed_at,
       h.attempt, h.fence, h.grp, h.last, h.revision, h.handed, h.parked, h.holder, h.size
from turno.hot h
where h.queue = $1::int and h.request = $2::text and h.request_fence = h.fence and h.holder = $3::text
    and h.expires_at is not null
