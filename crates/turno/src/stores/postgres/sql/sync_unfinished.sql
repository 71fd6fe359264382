-- name: sync_unfinished
-- The unfinished items of a page of keys, and whether they are exhausted. Searched lane by lane, so that the other
-- items of the queue are not read.
select b.key, h.parked
from (select distinct u.lane from unnest($2::bigint[]) as u (lane)) l
cross join lateral (
    select f.seq, f.parked from turno.hot f where f.queue = $1::int and f.lane = l.lane and f.lane is not null offset 0
) h
cross join lateral (select c.key from turno.body c where c.seq = h.seq and c.key is not null offset 0) b
