-- claim_bodies
-- After the items were saved: read in the same statement, a newer change could be handed out with older data.
select b.seq, b.queue, b.id, b.key, b.action, b.payload, b.enqueued_at
from unnest($1::bigint[]) as u (seq)
join turno.body b on b.seq = u.seq
