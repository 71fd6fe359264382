-- name: hot_first
-- The first item of a delivery, if it is still handed out under this fence.
select {hot}
from hot
where seq = ?1 and queue = ?2 and lane is ?3 and fence = ?4 and expires_at is not null

-- name: hot_next_expiry
select min(expires_at) from hot where expires_at > ?1

-- name: hot_next_look
select min(ready_at) from hot where queue = ?1 and ready_at > ?2

-- name: hot_read
select {hot}
from hot
where seq = ?1

-- name: hot_remove
delete from hot where seq = ?1

-- name: hot_request
-- Only for claims with a request id. Later updates leave these columns as they are, so the fence beside the id tells
-- whether they belong to the live delivery.
update hot set request_fence = ?2, request = ?3 where seq = ?1

-- name: hot_requested
-- Unsettled deliveries of an earlier claim with this request id. The fence must still match, because later hand-outs
-- leave the request columns as they are.
select {hot}
from hot
where queue = ?1 and request = ?2 and request_fence = fence and holder = ?3 and expires_at is not null
