-- body_known
select b.queue, b.id, b.payload
from unnest($1::int[], $2::text[]) as u (queue, id)
join turno.body b on b.queue = u.queue and b.id = u.id
