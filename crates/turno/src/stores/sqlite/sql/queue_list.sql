-- queue_list
select id, name, policy, version, paused from queue order by name
