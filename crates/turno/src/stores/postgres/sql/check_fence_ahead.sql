-- name: check_fence_ahead
-- L2: A fence or seq beyond the sequence would be given out again.
select json_build_object('resource', x.resource, 'place', x.place, 'problem', 'beyond_sequence', 'number', x.number,
           'newest', (select last_value from turno.number))::text
from (
    select l.resource as resource, null::bigint as place, l.fence as number from turno.lease l where l.fence is not null
    union all
    select null, h.seq, h.fence from turno.hot h
    union all
    select null, b.seq, b.seq from turno.body b
) x
where x.number > (select last_value from turno.number)
order by x.resource, x.place
limit $1::bigint
