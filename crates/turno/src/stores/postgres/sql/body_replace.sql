-- body_replace
update turno.body b
set action = u.action, payload = u.payload, replaced = true
from unnest($1::bigint[], $2::text[], $3::text[]) as u (seq, action, payload)
where b.seq = u.seq
