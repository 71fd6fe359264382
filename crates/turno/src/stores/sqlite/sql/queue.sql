-- name: queue_add
insert into queue (name, policy, kind, version, paused, push)
values (?1, ?2, ?3, 1, 0, ?4)
returning id, name, policy, version, paused, purged, push

-- name: queue_find
select id, name, policy, version, paused, purged, push from queue where name = ?1

-- name: queue_list
select id, name, policy, version, paused, purged, push from queue order by name

-- name: queue_look_again
-- Under another policy a head may be due sooner. So every head is looked at from its earliest instant on, and a claim
-- puts back those that are not due.
update hot
set ready_at = not_before
where queue = ?1 and ready_at > not_before

-- name: queue_name
select name from queue where id = ?1

-- name: queue_pause
update queue set paused = ?2 where id = ?1
returning name

-- name: queue_purged
-- The number of accepted items always equals the sum of all states and this count.
update queue set purged = purged + ?2 where id = ?1

-- name: queue_read
-- Every claim reads this, to notice a changed policy or a pause without a lock.
select version, paused from queue where id = ?1

-- name: queue_save
-- The version tells instances with a copy of the old policy to read it again.
update queue set policy = ?2, kind = ?3, push = ?4, version = version + 1
where id = ?1
returning id, name, policy, version, paused, purged, push
