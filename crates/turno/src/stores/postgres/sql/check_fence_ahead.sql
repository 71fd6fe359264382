-- name: check_fence_ahead
-- L2: A fence or seq beyond the sequence would be given out again.
select x.what, x.number || ' is beyond the sequence, which has come to ' || (select last_value from turno.number)
from (
    select 'lease ' || l.resource as what, l.fence as number from turno.lease l where l.fence is not null
    union all
    select 'item ' || h.seq, h.fence from turno.hot h
    union all
    select 'place ' || b.seq, b.seq from turno.body b
) x
where x.number > (select last_value from turno.number)
order by x.what
limit $1::bigint
