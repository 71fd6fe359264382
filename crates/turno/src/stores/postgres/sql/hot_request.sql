-- hot_request
-- Only for claims with a request id. Whatever is saved later leaves these columns alone: the fence beside the id says
-- whether they speak of the hand-out that lives.
update turno.hot h
set request = u.request, request_fence = u.fence
from unnest($1::bigint[], $2::bigint[], $3::text[]) as u (seq, fence, request)
where h.seq = u.seq
