-- name: queue_parked
-- Exhausted items that hold their lanes, in order. Uses hot_parked.
select b.id, h.lane
from turno.hot h
join turno.body b on b.seq = h.seq
where h.queue = $1::int and h.parked
order by h.seq
