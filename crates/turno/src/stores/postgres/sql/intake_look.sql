-- name: intake_look
-- Finds transactions that became visible since a snapshot, and the queues they left rows for: transactions that were
-- open in it ($2), or that started after it ($1). The rows are in the intake or are marks of sync triggers. Each pair
-- costs one descent in the index of each table (intake_look, sync_mark_look), however many rows it has, because the next
-- pair is searched for and not scanned to. Open transactions are left out of the ranges,
-- because otherwise every look would scan all rows that a large one has written so far. Dead entries of rows taken in
-- cost nothing either. Every row carries the snapshot of this look; without new pairs there is one row.
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
        select f.xid, f.queue
        from (
            (select i.xid, i.queue
             from turno.intake i
             where i.xid >= s.first and i.xid <= s.last
             order by i.xid, i.queue
             limit 1)
            union all
            (select k.xid::text::bigint, k.queue
             from turno.sync_mark k
             where k.xid >= s.first::text::xid8 and k.xid <= s.last::text::xid8
             order by k.xid, k.queue
             limit 1)
        ) f
        order by f.xid, f.queue
        limit 1
    ) m
    union all
    select p.last, m.xid, m.queue
    from pair p
    cross join lateral (
        select f.xid, f.queue
        from (
            (select i.xid, i.queue
             from turno.intake i
             where (i.xid, i.queue) > (p.xid, p.queue) and i.xid <= p.last
             order by i.xid, i.queue
             limit 1)
            union all
            (select k.xid::text::bigint, k.queue
             from turno.sync_mark k
             where (k.xid, k.queue) > (p.xid::text::xid8, p.queue) and k.xid <= p.last::text::xid8
             order by k.xid, k.queue
             limit 1)
        ) f
        order by f.xid, f.queue
        limit 1
    ) m
)
select pg_snapshot_xmax(l.snapshot)::text::bigint, array(select o.xid from open o), m.xid, m.queue
from look l
left join (select p.xid, p.queue from pair p limit $3::bigint) m on true
