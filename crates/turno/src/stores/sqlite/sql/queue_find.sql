-- queue_find
select id, name, policy, version, paused from queue where name = ?1
