-- name: settle_completed
-- Deliveries that a committed transaction has completed and that wait in the intake. Sent after the locks.
select u.n
from unnest($1::int[], $2::bigint[], $3::bigint[]) as u (n, seq, fence)
join turno.intake i on i.seq = u.seq and i.fence = u.fence

-- name: settle_completing
-- Deliveries that an application's transaction is completing at this moment (turno.complete holds the same lock). It
-- may still commit, so they are not taken back. The others are locked here, so they cannot be completed until this
-- ends.
select u.n
from unnest($1::int[], $2::bigint[]) as u (n, seq)
where not pg_try_advisory_xact_lock(1953854064, (u.seq & 2147483647)::int)
