-- event_span
-- Reads the last position at the right end of the index, because the left end may be full of purged rows.
select p.pos + 1, greatest(p.pos, (select max(l.pos) from turno.event_log l)) from turno.event_purged p
