-- event_span
-- The last number given is kept by SQLite itself, also when the table is empty.
select coalesce((select min(e.n) from event_in e), s.last + 1), s.last
from (select coalesce((select q.seq from sqlite_sequence q where q.name = 'event_in'), 0) as last) s
