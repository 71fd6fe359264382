-- queue_read
select version, paused from turno.queue where id = $1::int
