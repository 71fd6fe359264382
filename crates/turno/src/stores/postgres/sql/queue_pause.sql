-- queue_pause
update turno.queue set paused = $2::boolean where id = $1::int returning name
