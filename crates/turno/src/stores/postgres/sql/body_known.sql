-- body_known
-- Lateral, so that no plan made on an empty table can read a whole queue instead of one entry.
select u.queue, u.id, b.payload
from unnest($1::int[], $2::text[]) as u (queue, id)
cross join lateral (
    select k.payload from turno.body k where k.queue = u.queue and k.id = u.id limit 1
) b
