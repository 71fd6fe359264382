-- repair_lock
-- Under the lane's mutex. A claim takes no mutex but locks heads, so every row that could be one is locked, in the order of
-- places. The rows are read by a later statement, which sees what those who held a lock have committed.
select h.seq
from turno.hot h
where (h.queue = $1::int and h.lane = $2::bigint and (h.ready_at is not null or h.expires_at is not null))
    or h.seq = $3::bigint
order by h.seq
for update of h
