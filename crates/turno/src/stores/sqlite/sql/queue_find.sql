-- queue_find
select id, name, policy, version, paused, purged from queue where name = ?1
