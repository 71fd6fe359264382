-- queue_list
select id, name, policy, version, paused, purged, push from turno.queue order by id
