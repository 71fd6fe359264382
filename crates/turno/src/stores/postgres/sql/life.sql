-- life
-- The life at the other end, in the same words as in the clock's statement.
select s.started || '/' || s.timeline || '/' || l.tableoid || '/' || l.number
from turno.life l cross join turno.server_life() s
