-- intake_look
-- Which transactions became visible since a snapshot, and for which queues they left something: of those that were open in
-- it ($2), or came after it ($1). Each pair costs one descent in the index (intake_look), however many rows it has, because
-- the next pair is searched for and not walked to. Transactions that are still open are left out of the spans: otherwise
-- every look would walk over all that a large one has written so far. Nor does what was taken in cost anything, which is
-- dead for as long as anybody keeps an old snapshot. Answers the snapshot of this look in every row, also if there is
-- nothing new.
with recursive look as materialized (
    select pg_current_snapshot() as snapshot
), open as materialized (
    select x.xid::text::bigint as xid from look l cross join pg_snapshot_xip(l.snapshot) as x (xid)
), spans as materialized (
    select lag(o.xid, 1, $1::bigint - 1) over (order by o.xid) + 1 as first, o.xid - 1 as last
    from open o
    where o.xid >= $1::bigint
    union all
    select greatest($1::bigint, (select max(o.xid) + 1 from open o)), pg_snapshot_xmax(l.snapshot)::text::bigint - 1
    from look l
    union all
    select u.xid, u.xid
    from unnest($2::bigint[]) as u (xid)
    where not exists (select from open o where o.xid = u.xid)
), pair as (
    select s.last, m.xid, m.queue
    from spans s
    cross join lateral (
        select i.xid, i.queue
        from turno.intake i
        where i.xid >= s.first and i.xid <= s.last
        order by i.xid, i.queue
        limit 1
    ) m
    union all
    select p.last, m.xid, m.queue
    from pair p
    cross join lateral (
        select i.xid, i.queue
        from turno.intake i
        where (i.xid, i.queue) > (p.xid, p.queue) and i.xid <= p.last
        order by i.xid, i.queue
        limit 1
    ) m
)
select pg_snapshot_xmax(l.snapshot)::text::bigint, array(select o.xid from open o), m.xid, m.queue
from look l
left join (select p.xid, p.queue from pair p limit $3::bigint) m on true
