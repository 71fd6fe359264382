-- absorbed_remove
delete from turno.absorbed a
using unnest($1::int[], $2::text[]) as u (queue, id)
where a.queue = u.queue and a.id = u.id
