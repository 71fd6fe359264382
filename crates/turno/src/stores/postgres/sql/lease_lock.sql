-- name: lease_lock
-- The lock for commands that may take or end an ownership. The names come sorted, which is the order of locking. It
-- does not wait: an application's open transaction may hold a row (FOR KEY SHARE) for any time, and the other commands
-- of the group must not wait for that. Rows missing in the answer are locked, or do not exist.
select (u.n - 1)::int, {l.grant}, l.waiting, l.ended, l.look_at
from unnest($1::text[]) with ordinality as u (resource, n)
cross join lateral (
    select {k.grant}, k.waiting, k.ended, k.look_at
    from turno.lease k
    where k.resource = u.resource
    limit 1
    for update skip locked
) l
