-- name: done_read
-- Locked, so that the item is not purged (item_purge) while it is re-queued.
select {d.done}
from turno.done d
where d.seq = $1::bigint
for update
