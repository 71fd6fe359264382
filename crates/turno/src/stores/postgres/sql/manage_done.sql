-- manage_done
-- Locked, so that it is not forgotten (purge_items) while it is sent round again.
select d.seq, d.queue, d.ended, d.at, d.attempt, d.fence, d.revision, d.holder, d.handed_at
from turno.done d
where d.seq = $1::bigint
for update
