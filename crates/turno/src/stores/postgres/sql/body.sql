-- name: body_find
select seq, key, enqueued_at from turno.body where queue = $1::int and id = $2::text

-- name: body_read
-- Runs after the items were saved: read in one statement with them, a newer revision could go out with older data.
select b.seq, b.queue, b.id, b.key, b.action, b.payload, b.enqueued_at
from unnest($1::bigint[]) as u (seq)
join turno.body b on b.seq = u.seq
