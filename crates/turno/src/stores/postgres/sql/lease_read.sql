-- name: lease_read
-- Every heartbeat reads, but few write: this statement is all that most of them cost.
select (u.n - 1)::int, {l.grant}, l.waiting, l.ended, l.look_at
from unnest($1::text[]) with ordinality as u (resource, n)
cross join lateral (
    select {k.grant}, k.waiting, k.ended, k.look_at
    from turno.lease k
    where k.resource = u.resource
    limit 1
) l
