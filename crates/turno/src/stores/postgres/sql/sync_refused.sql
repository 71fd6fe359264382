-- name: sync_refused
select count(*) from turno.intake_refused r where r.queue = $1::int and r.kind = 'enqueue'
