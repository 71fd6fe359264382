-- queue_list
select id, name, policy, version, paused from turno.queue order by id
