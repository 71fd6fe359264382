-- body_replace
-- What was accepted under the id is kept, so that a repeat can be told from a mix-up.
update turno.body b
set action = u.action, payload = u.payload, accepted = coalesce(b.accepted, b.payload)
from unnest($1::bigint[], $2::text[], $3::text[]) as u (seq, action, payload)
where b.seq = u.seq
