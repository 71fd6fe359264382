-- name: intake_list
-- Lists what these transactions ($2) left for a queue ($1), in the order of the calls: number, whether it is an ack,
-- bytes, and of a mark its transaction. Goes transaction by transaction, so that of a large one no more is read than
-- fits into the list. The queue is a range and comes first in the order, as in the indexes (intake_look,
-- sync_mark_look). With an equality the planner could choose the primary key, which has the wanted order too, and scan
-- the rows of all other queues.
select m.n, m.ack, m.bytes, m.mark
from unnest($2::bigint[]) as u (xid)
cross join lateral (
    (select i.n, i.kind = 'ack' as ack, coalesce(octet_length(i.payload), 0)::bigint as bytes, null::bigint as mark
     from turno.intake i
     where i.xid = u.xid and i.queue >= $1::int and i.queue <= $1::int
     order by i.queue, i.n
     limit $3::bigint)
    union all
    (select k.n, false, 0, u.xid
     from turno.sync_mark k
     where k.xid = u.xid::text::xid8 and k.queue >= $1::int and k.queue <= $1::int
     order by k.queue, k.n
     limit $3::bigint)
) m
order by m.n
limit $3::bigint
