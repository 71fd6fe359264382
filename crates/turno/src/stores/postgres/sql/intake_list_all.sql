-- intake_list_all
-- All that waits for a queue, in the order of calls: where there are more transactions than a process remembers.
select i.n, i.kind = 'ack', coalesce(octet_length(i.payload), 0)::bigint
from turno.intake i
where i.queue = $1::int
order by i.n
limit $2::bigint
