-- queue_add
insert into queue (name, policy, kind, version, paused, push)
values (?1, ?2, ?3, 1, 0, ?4)
returning id, name, policy, version, paused, purged, push
