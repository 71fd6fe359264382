-- queue_busy
-- Whether a queue has unfinished items, or finished exhausted ones, which can be re-queued.
select exists (select from turno.hot where queue = $1::int)
    or exists (select from turno.done where queue = $1::int and ended = 1)
