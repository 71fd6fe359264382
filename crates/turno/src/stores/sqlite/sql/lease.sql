-- name: lease_due
-- The command Look decides again in the write transaction; this only finds candidates.
select resource from lease where look_at <= ?1 order by look_at limit ?2

-- name: lease_due_next
select min(look_at) from lease where look_at > ?1

-- name: lease_look
-- Separate from `lease_save`, because SQLite rewrites an index entry whenever its column is named in an update, even if
-- the value stays. Heartbeats keep the value, and so the index stays untouched.
update lease set look_at = ?1 where resource = ?2 and look_at is not ?1

-- name: lease_purge
-- Within a range of names. A lease without holder, waiting line and recent ownership carries no information.
delete from lease
where resource > ?1 and resource <= ?2 and fence is null and waiting is null and (ended_at is null or ended_at < ?3)

-- name: lease_walk
-- The last of the next `?2` names, along the primary key.
select max(resource) from (select resource from lease where resource > ?1 order by resource limit ?2)
