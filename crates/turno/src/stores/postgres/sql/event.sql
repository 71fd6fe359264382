-- name: event_lock
-- Lets one sequencer run at a time, under its own class number beside that of the lane locks. The lock is held until
-- the commit is visible, so that positions become visible in order. It does not wait, because the holder does the same
-- work. The result is kept in a transaction setting. So the next statement can be sent in the same trip, and still
-- takes its snapshot after the lock. The last number given to an event tells which events were under way by now.
select set_config('turno.sequencing', pg_try_advisory_xact_lock(1953854063, 0)::text, true) = 'true',
       (select case when s.is_called then s.last_value else 0 end from turno.event_in_n_seq s)

-- name: event_span
-- Reads the last position at the right end of the index, because the left end may be full of purged rows.
select p.pos + 1, greatest(p.pos, (select max(l.pos) from turno.event_log l)) from turno.event_purged p
