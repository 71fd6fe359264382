-- event_span
-- SQLite keeps the last number given in sqlite_sequence, even if the table is empty.
select coalesce((select min(e.n) from event_in e), s.last + 1), s.last
from (select coalesce((select q.seq from sqlite_sequence q where q.name = 'event_in'), 0) as last) s
