-- name: body_replace
-- Keeps what was accepted first under the id, so that a repeat can be told from a different item with the same id.
update turno.body b
set action = u.action, payload = u.payload, accepted = coalesce(b.accepted, b.payload)
from unnest($1::bigint[], $2::text[], $3::text[]) as u (seq, action, payload)
where b.seq = u.seq
