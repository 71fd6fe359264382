-- queue_name
select name from turno.queue where id = $1::int
