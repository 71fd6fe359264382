-- queue_list
select id, name, policy, version, paused, purged from queue order by name
