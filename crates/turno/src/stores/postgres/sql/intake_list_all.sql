-- name: intake_list_all
-- Lists all rows of a queue in the order of the calls, if there are more transactions than a process keeps.
select i.n, i.kind = 'ack', coalesce(octet_length(i.payload), 0)::bigint
from turno.intake i
where i.queue = $1::int
order by i.n
limit $2::bigint
