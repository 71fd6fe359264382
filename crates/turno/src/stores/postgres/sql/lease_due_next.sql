-- name: lease_due_next
-- Searches only as far as the caller sleeps at most.
select look_at
from turno.lease
where look_at > $1::bigint and look_at <= $2::bigint
order by look_at
limit 1
