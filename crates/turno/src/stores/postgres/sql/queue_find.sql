-- queue_find
select id, name, policy, version, paused, purged, push from turno.queue where name = $1::text
