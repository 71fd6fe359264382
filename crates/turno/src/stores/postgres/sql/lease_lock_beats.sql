-- name: lease_lock_beats
-- The weaker lock for heartbeats and looks, and the first step of the patient way. The names come sorted, which is the
-- order of locking. It waits for other engines, but not for an application's transaction that asserts its lease (FOR
-- KEY SHARE): that stops takers and not the holder's renewal.
select (u.n - 1)::int, {l.grant}, l.waiting, l.ended, l.look_at
from unnest($1::text[]) with ordinality as u (resource, n)
cross join lateral (
    select {k.grant}, k.waiting, k.ended, k.look_at
    from turno.lease k
    where k.resource = u.resource
    limit 1
    for no key update
) l
