-- name: repair_lock
-- Runs under the lane's lock. A claim does not lock the lane, it locks heads, so every row that could be a head is
-- locked, in the order of seqs. A later statement reads the rows, and sees what earlier holders of the locks have
-- committed.
select h.seq
from turno.hot h
where (h.queue = $1::int and h.lane = $2::bigint and (h.ready_at is not null or h.expires_at is not null))
    or h.seq = $3::bigint
order by h.seq
for update of h
