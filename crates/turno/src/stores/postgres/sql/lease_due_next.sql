-- lease_due_next
-- Only as far as anybody waits without looking again.
select look_at
from turno.lease
where look_at > $1::bigint and look_at <= $2::bigint
order by look_at
limit 1
