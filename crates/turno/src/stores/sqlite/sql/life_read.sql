-- name: life_read
select l.identifier, l.timeline, l.started,
       (select n.value from number n),
       coalesce((select s.seq from sqlite_sequence s where s.name = 'task'), 0),
       coalesce((select s.seq from sqlite_sequence s where s.name = 'event_in'), 0)
from life l
