-- settle_completed
-- Deliveries that a committed transaction has completed and that wait in the intake. Sent after the locks.
select u.n
from unnest($1::int[], $2::bigint[], $3::bigint[]) as u (n, seq, fence)
join turno.intake i on i.seq = u.seq and i.fence = u.fence
