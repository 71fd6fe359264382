-- settle_completed
-- Which deliveries were completed by a committed transaction and wait to be taken in. Sent after the locks.
select u.n
from unnest($1::int[], $2::bigint[], $3::bigint[]) as u (n, seq, fence)
join turno.intake i on i.seq = u.seq and i.fence = u.fence
