-- intake_list
-- What these transactions ($2) left for a queue ($1), in the order of calls.
select i.n, i.kind = 'ack', coalesce(octet_length(i.payload), 0)::bigint
from unnest($2::bigint[]) as u (xid)
join turno.intake i on i.xid = u.xid and i.queue = $1::int
order by i.n
limit $3::bigint
