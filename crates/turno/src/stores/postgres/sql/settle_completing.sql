-- settle_completing
-- Which deliveries a transaction of an application is completing at this moment (turno.complete holds the same lock). It
-- may yet commit, so they are not taken back now. Those that are not: nobody can complete them until this ends.
select u.n
from unnest($1::int[], $2::bigint[]) as u (n, seq)
where not pg_try_advisory_xact_lock(1953854064, (u.seq & 2147483647)::int)
