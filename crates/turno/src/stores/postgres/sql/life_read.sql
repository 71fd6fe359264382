-- name: life_read
-- A separate statement after the lock, so that it sees a life that another process has begun.
select l.identifier, l.timeline, l.started,
       turno.server_identifier() || '/' || l.tableoid, s.timeline, s.started,
       (select case when n.is_called then n.last_value else n.last_value - 1 end from turno.number n),
       (select case when t.is_called then t.last_value else t.last_value - 1 end from turno.task_id_seq t),
       greatest(p.pos, (select max(e.pos) from turno.event_log e))
from turno.life l cross join turno.server_life() s cross join turno.event_purged p
