-- name: intake_list
-- Lists what these transactions ($2) left for a queue ($1), in the order of the calls. Goes transaction by transaction,
-- so that of a large one no more is read than fits into the list. The queue is a range and comes first in the order, as
-- in the index (intake_look). With an equality the planner could choose the primary key, which has the wanted order
-- too, and scan the rows of all other queues.
select m.n, m.ack, m.bytes
from unnest($2::bigint[]) as u (xid)
cross join lateral (
    select i.n, i.kind = 'ack' as ack, coalesce(octet_length(i.payload), 0)::bigint as bytes
    from turno.intake i
    where i.xid = u.xid and i.queue >= $1::int and i.queue <= $1::int
    order by i.queue, i.n
    limit $3::bigint
) m
order by m.n
limit $3::bigint
