-- queue_find
select id, name, policy, version, paused, purged, push from queue where name = ?1
