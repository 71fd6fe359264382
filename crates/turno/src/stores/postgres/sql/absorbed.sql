-- name: absorbed_add
-- Two transactions that absorb the same id for different keys conflict here; the second is decided again.
insert into turno.absorbed (queue, id, digest, at)
select u.queue, u.id, u.digest, u.at
from unnest($1::int[], $2::text[], $3::bigint[], $4::bigint[]) as u (queue, id, digest, at)

-- name: absorbed_remove
delete from turno.absorbed a
using unnest($1::int[], $2::text[]) as u (queue, id)
where a.queue = u.queue and a.id = u.id
