-- name: queue_busy
-- Whether a queue has unfinished items, or finished exhausted ones, which can be re-queued.
select exists (select from turno.hot where queue = $1::int)
    or exists (select from turno.done where queue = $1::int and ended = 1)

-- name: queue_find
select id, name, policy, version, paused, purged, push from turno.queue where name = $1::text

-- name: queue_list
select id, name, policy, version, paused, purged, push from turno.queue order by id

-- name: queue_lock
select id, name, policy, version, paused, purged, push from turno.queue where name = $1::text for update

-- name: queue_name
select name from turno.queue where id = $1::int

-- name: queue_pause
update turno.queue set paused = $2::boolean where id = $1::int returning name

-- name: queue_purged
update turno.queue set purged = purged + $2::bigint where id = $1::int returning name

-- name: queue_read
select version, paused from turno.queue where id = $1::int

-- name: queue_save
update turno.queue
set policy = $2::text, kind = $3::text, push = $4::text, version = version + 1
where id = $1::int
