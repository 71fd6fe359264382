-- queue_parked
-- What is exhausted and holds its lane, in order. From hot_parked.
select body.id
from hot indexed by hot_parked
cross join body on body.seq = hot.seq
where hot.queue = ?1 and hot.parked
order by hot.seq
