-- lease_lock
select (u.n - 1)::int, l.holder_user, l.holder_name, l.holder_instance, l.fence, l.claim, l.ttl_ms,
       l.locked_at, l.worked_at, l.heartbeat_at, l.expires_at, l.idle, l.waiting, l.ended
from unnest($1::text[]) with ordinality as u (resource, n)
join turno.lease l on l.resource = u.resource
order by u.n
for update of l
