-- absorbed_add
-- Two transactions that take in the same id at once, for different keys, meet here: the second is done anew.
insert into turno.absorbed (queue, id, digest, at)
select u.queue, u.id, u.digest, u.at
from unnest($1::int[], $2::text[], $3::bigint[], $4::bigint[]) as u (queue, id, digest, at)
