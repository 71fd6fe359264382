-- intake_look
-- What became visible since a snapshot: of transactions that were open in it ($2), or came after it ($1). So neither what
-- was taken in and is dead for as long as anybody keeps an old snapshot, nor a transaction that stays open for long,
-- costs anything, and nothing is ever overlooked. Answers the snapshot of this look in every row, also if there is
-- nothing new.
with look as materialized (
    select pg_current_snapshot() as snapshot
), fresh as materialized (
    select f.n, f.ack, f.bytes
    from (
        select i.n, i.kind = 'ack' as ack, coalesce(octet_length(i.payload), 0) as bytes
        from turno.intake i
        where i.xid >= $1::bigint
        union all
        select i.n, i.kind = 'ack', coalesce(octet_length(i.payload), 0)
        from unnest($2::bigint[]) as u (xid)
        join turno.intake i on i.xid = u.xid
    ) f
    order by f.n
    limit $3::bigint
)
select pg_snapshot_xmax(l.snapshot)::text::bigint,
       array(select x.xid::text::bigint from pg_snapshot_xip(l.snapshot) as x (xid)),
       f.n, f.ack, f.bytes::bigint
from look l
left join fresh f on true
order by f.n
