-- event_lock
-- One sequencer at a time, under a class number of its own beside the lanes' mutexes. Held until after the commit has
-- become visible, so positions become visible in order. Not waited for: whoever holds it does the same work. The
-- answer is left in the transaction, so that the next statement can go in the same trip and still begin with a
-- snapshot taken after the lock. The last number given to an event tells which ones were under way by now.
select set_config('turno.sequencing', pg_try_advisory_xact_lock(1953854063, 0)::text, true) = 'true',
       (select case when s.is_called then s.last_value else 0 end from turno.event_in_n_seq s)
