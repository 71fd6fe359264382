-- queue_busy
-- Whether a queue has items that are unfinished, or exhausted and finished with that: these can come back.
select exists (select from turno.hot where queue = $1::int)
    or exists (select from turno.done where queue = $1::int and ended = 1)
