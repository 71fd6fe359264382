-- name: event_add
insert into event_in (topic, name, resource, at, fence, by_user, detail, to_users)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- name: event_purge
-- Deletes from the oldest event up to the first one to keep. A hole in the middle would be an undetectable gap.
with head (n, at) as (select e.n, e.at from event_in e where e.n > 0 order by e.n limit ?2)
delete from event_in
where n < coalesce((select min(h.n) from head h where h.at >= ?1), (select max(h.n) + 1 from head h), 0)

-- name: event_span
-- SQLite keeps the last number given in sqlite_sequence, even if the table is empty.
select coalesce((select min(e.n) from event_in e), s.last + 1), s.last
from (select coalesce((select q.seq from sqlite_sequence q where q.name = 'event_in'), 0) as last) s
