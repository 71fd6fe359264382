-- name: intake_list_all
-- Lists all rows of a queue in the order of the calls, if there are more transactions than a process keeps.
(select i.n, i.kind = 'ack', coalesce(octet_length(i.payload), 0)::bigint, null::bigint
 from turno.intake i
 where i.queue = $1::int
 order by i.n
 limit $2::bigint)
union all
(select k.n, false, 0, k.xid::text::bigint
 from turno.sync_mark k
 where k.queue = $1::int
 order by k.n
 limit $2::bigint)
order by 1
limit $2::bigint
