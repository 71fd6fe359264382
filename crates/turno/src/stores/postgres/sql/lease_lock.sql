-- lease_lock
-- The lock of those who may take or end an ownership, in the order of the names, which come sorted. It waits for
-- nobody: an application's open transaction may hold a row (FOR KEY SHARE) for as long as it likes, and the others of
-- the group must not wait for that. What is missing in the answer is locked by somebody, or not there.
select (u.n - 1)::int, l.holder_user, l.holder_name, l.holder_instance, l.fence, l.claim, l.ttl_ms,
       l.locked_at, l.worked_at, l.heartbeat_at, l.expires_at, l.idle, l.waiting, l.ended, l.look_at
from unnest($1::text[]) with ordinality as u (resource, n)
cross join lateral (
    select k.holder_user, k.holder_name, k.holder_instance, k.fence, k.claim, k.ttl_ms,
           k.locked_at, k.worked_at, k.heartbeat_at, k.expires_at, k.idle, k.waiting, k.ended, k.look_at
    from turno.lease k
    where k.resource = u.resource
    limit 1
    for update skip locked
) l
