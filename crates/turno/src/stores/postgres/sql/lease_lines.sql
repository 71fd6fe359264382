-- name: lease_lines
-- Scans the primary key, also over leases without a waiting line. Rarely used: only when a user is disabled.
select k.resource, {k.grant}, k.waiting, k.ended, k.look_at
from turno.lease k
where k.resource > $1::text and k.waiting is not null
order by k.resource
limit $2::bigint
