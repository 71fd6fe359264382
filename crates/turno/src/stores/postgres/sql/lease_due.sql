-- lease_due
-- The time is a parameter: the planner does not use a volatile function as the bound of an index scan. What is due is
-- decided anew under the lock; this only says where to look.
select resource, look_at
from turno.lease
where look_at >= $1::bigint and look_at <= $2::bigint
order by look_at
limit $3::bigint
