-- event_span
-- The last position is found at the right end of the index; the left end may be full of purged rows.
select p.pos + 1, greatest(p.pos, (select max(l.pos) from turno.event_log l)) from turno.event_purged p
