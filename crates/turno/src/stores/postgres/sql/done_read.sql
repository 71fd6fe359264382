-- name: done_read
-- Locked, so that the item is not purged (item_purge) while it is re-queued.
select d.seq, d.queue, d.ended, d.at, d.attempt, d.fence, d.revision, d.holder, d.handed_at
from turno.done d
where d.seq = $1::bigint
for update
