-- lease_lines
-- In the order of the key, over those for which nobody waits: asked for only when somebody is locked out.
select k.resource, k.holder_user, k.holder_name, k.holder_instance, k.fence, k.claim, k.ttl_ms,
       k.locked_at, k.worked_at, k.heartbeat_at, k.expires_at, k.idle, k.waiting, k.ended, k.look_at
from turno.lease k
where k.resource > $1::text and k.waiting is not null
order by k.resource
limit $2::bigint
