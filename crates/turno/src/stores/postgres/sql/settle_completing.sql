-- settle_completing
-- Deliveries that an application's transaction is completing at this moment (turno.complete holds the same lock). It
-- may still commit, so they are not taken back. The others are locked here, so they cannot be completed until this
-- ends.
select u.n
from unnest($1::int[], $2::bigint[]) as u (n, seq)
where not pg_try_advisory_xact_lock(1953854064, (u.seq & 2147483647)::int)
