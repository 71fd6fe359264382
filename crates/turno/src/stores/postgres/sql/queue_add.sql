-- queue_add
-- Two who create it at once: the second waits here and then finds it. The answer says who made it.
insert into turno.queue (name, policy, kind, version, paused, push)
values ($1::text, $2::text, $3::text, 1, false, $4::text)
on conflict (name) do nothing
returning true
