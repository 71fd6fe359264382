-- name: check_fence_reused
-- L2: A fence that is not higher than every ended ownership of its resource was given twice, or went back.
select l.resource, 'fence ' || l.fence || ' is held, and ' || h.fence || ' ended before it'
from lease l
join lease_history h on h.resource = l.resource and h.fence >= l.fence
where l.fence is not null
order by l.resource, h.fence
limit ?1
