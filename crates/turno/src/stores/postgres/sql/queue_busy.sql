-- queue_busy
select exists (select from turno.hot where queue = $1::int)
