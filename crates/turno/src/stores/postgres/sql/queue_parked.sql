-- queue_parked
-- What is exhausted and holds its lane, in order. From hot_parked.
select b.id, h.lane
from turno.hot h
join turno.body b on b.seq = h.seq
where h.queue = $1::int and h.parked
order by h.seq
