-- stripe_lock
-- The mutexes of the lanes, in one order. Taken before the numbers, so that the order of places in a lane is
-- the order of commits.
select s.slot
from unnest($1::int[]) as u (slot)
join turno.stripe s on s.slot = u.slot
order by s.slot
for update of s
