-- life_name
-- The database's life, rendered as in the clock statement.
select s.started || '/' || s.timeline || '/' || l.tableoid || '/' || l.number
from turno.life l cross join turno.server_life() s
