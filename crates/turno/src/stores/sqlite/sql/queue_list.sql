-- queue_list
select id, name, policy, version, paused, purged, push from queue order by name
