-- event_purge
-- Deletes from the oldest event up to the first one to keep. A hole in the middle would be an undetectable gap.
with head (n, at) as (select e.n, e.at from event_in e where e.n > 0 order by e.n limit ?2)
delete from event_in
where n < coalesce((select min(h.n) from head h where h.at >= ?1), (select max(h.n) + 1 from head h), 0)
