-- name: clock
-- Sent after the locking statements and never as part of one, because there the clock would be read before the wait.
-- Fresh numbers are taken here too, and so under the locks. The transaction's id tells, after a connection was lost at
-- commit, whether the transaction was committed. An id is forced ($2) only if the transaction certainly writes, because
-- a transaction without one costs no log. The mark is the highest time that any process has recorded; no decision uses
-- an earlier time. The same row has the epoch of access: a group that was authorised under another epoch is refused.
-- The life tells whether this process's caches are about this database. The last column counts which of the queues $3
-- exist, because a queue that was created shortly before a failover may be gone.
select (extract(epoch from clock_timestamp()) * 1000)::bigint,
       (case when $2::boolean then pg_current_xact_id() else pg_current_xact_id_if_assigned() end)::text,
       array(select nextval('turno.number') from generate_series(1, $1::int)),
       m.high,
       m.epoch,
       s.started || '/' || s.timeline || '/' || l.tableoid || '/' || l.number,
       (select count(*) from turno.queue q where q.id = any ($3::int[]))
from turno.mark m cross join turno.life l cross join turno.server_life() s
