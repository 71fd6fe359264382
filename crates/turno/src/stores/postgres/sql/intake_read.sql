-- name: intake_read
-- Sent after the lock, so that rows that another process has taken in meanwhile are gone.
select i.n, i.at, i.queue, i.id, i.given, i.key, i.action, i.payload, i.delay_ms, i.seq, i.lane, i.size, i.fence
from unnest($1::bigint[]) as u (n)
join turno.intake i on i.n = u.n
order by i.n
