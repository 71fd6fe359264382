-- queue_list
select id, name, policy, version, paused, purged from turno.queue order by id
