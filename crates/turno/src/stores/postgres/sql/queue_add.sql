-- name: queue_add
-- If two processes create the queue at once, the second waits here and then finds it. Returns a row only to the
-- creator.
insert into turno.queue (name, policy, kind, version, paused, push)
values ($1::text, $2::text, $3::text, 1, false, $4::text)
on conflict (name) do nothing
returning true
