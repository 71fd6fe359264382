-- name: body_add
insert into turno.body (seq, queue, id, key, action, payload, enqueued_at)
select u.seq, u.queue, u.id, u.key, u.action, u.payload, u.enqueued_at
from unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[])
    as u (seq, queue, id, key, action, payload, enqueued_at)
