-- name: lease_read
-- Every heartbeat reads, but few write: this statement is all that most of them cost.
select (u.n - 1)::int, l.holder_user, l.holder_name, l.holder_instance, l.fence, l.claim, l.ttl_ms,
       l.locked_at, l.worked_at, l.heartbeat_at, l.expires_at, l.idle, l.waiting, l.ended, l.look_at
from unnest($1::text[]) with ordinality as u (resource, n)
cross join lateral (
    select k.holder_user, k.holder_name, k.holder_instance, k.fence, k.claim, k.ttl_ms,
           k.locked_at, k.worked_at, k.heartbeat_at, k.expires_at, k.idle, k.waiting, k.ended, k.look_at
    from turno.lease k
    where k.resource = u.resource
    limit 1
) l
