-- name: check_fence_ahead
-- L2: A fence or seq beyond the sequence would be given out again.
select json_object('resource', x.resource, 'place', x.place, 'problem', 'beyond_sequence', 'number', x.number,
           'newest', (select value from number))
from (
    select l.resource as resource, null as place, l.fence as number from lease l where l.fence is not null
    union all
    select null, h.seq, h.fence from hot h
    union all
    select null, b.seq, b.seq from body b
) x
where x.number > (select value from number)
order by x.resource, x.place
limit ?1
