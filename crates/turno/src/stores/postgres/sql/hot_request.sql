-- name: hot_request
-- Only for claims with a request id. Later updates leave these columns as they are, so the fence beside the id tells
-- whether they belong to the live delivery.
update turno.hot h
set request = u.request, request_fence = u.fence
from unnest($1::bigint[], $2::bigint[], $3::text[]) as u (seq, fence, request)
where h.seq = u.seq
