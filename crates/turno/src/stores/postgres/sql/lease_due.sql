-- name: lease_due
-- The time is a parameter, because the planner does not use a volatile function as the bound of an index scan. The
-- command Look decides again under the lock; this only finds candidates.
select resource, look_at
from turno.lease
where look_at >= $1::bigint and look_at <= $2::bigint
order by look_at
limit $3::bigint
