-- name: hot_requested
-- Sent after the lock. Finds unsettled deliveries of an earlier claim with this request id. The fence must still match,
-- because later hand-outs leave the request columns as they are.
select {h.hot}
from turno.hot h
where h.queue = $1::int and h.request = $2::text and h.request_fence = h.fence and h.holder = $3::text
    and h.expires_at is not null
