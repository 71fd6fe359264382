-- name: lease_list
-- Scans the primary key behind $1. A prefix is a range: $2 is its beginning, $3 the first name behind it.
select k.resource, {k.grant}, k.waiting, k.ended, k.look_at
from turno.lease k
where k.resource > $1::text and k.resource >= $2::text and k.resource < $3::text
    and k.fence is not null
    and ($4::text is null or k.holder_user = $4::text)
order by k.resource
limit $5::bigint
