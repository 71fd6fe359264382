-- name: check_fence_reused
-- L2: A fence that is not higher than every ended ownership of its resource was given twice, or went back.
select json_build_object('resource', l.resource, 'problem', 'fence_not_newer', 'fence', l.fence, 'ended', h.fence)::text
from turno.lease l
join turno.lease_history h on h.resource = l.resource and h.fence >= l.fence
where l.fence is not null
order by l.resource, h.fence
limit $1::bigint
