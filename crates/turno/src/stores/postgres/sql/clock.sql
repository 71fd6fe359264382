-- clock
-- Sent after the locking statements, never as part of one: there it would be read before the wait.
-- Fresh numbers are taken here too, hence under the locks. The transaction's id answers, after a connection
-- lost at commit, whether it was committed; it is only forced ($2) where something is certainly written,
-- since a transaction without one costs no write-ahead log. The mark is the highest time that any process has
-- recorded: nobody decides with an earlier one. In the same row, the epoch of access: who was allowed something under
-- another one is sent back to ask again. The life of the database tells whether what a process remembers is about this
-- one. How many of the queues $3 exist: a queue that was created shortly before a failover may be gone.
select (extract(epoch from clock_timestamp()) * 1000)::bigint,
       (case when $2::boolean then pg_current_xact_id() else pg_current_xact_id_if_assigned() end)::text,
       array(select nextval('turno.number') from generate_series(1, $1::int)),
       m.high,
       m.epoch,
       s.started || '/' || s.timeline || '/' || l.tableoid || '/' || l.number,
       (select count(*) from turno.queue q where q.id = any ($3::int[]))
from turno.mark m cross join turno.life l cross join turno.server_life() s
