-- claim_queue
select version, paused from turno.queue where id = $1::int
