-- queue_get
select id, name, policy, version, paused from turno.queue where name = $1::text
