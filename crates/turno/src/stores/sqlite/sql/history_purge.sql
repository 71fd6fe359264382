-- name: history_purge
-- Oldest first, from lease_history_age. The outer search is by primary key.
delete from lease_history
where (resource, fence) in (select resource, fence from lease_history where at < ?1 order by at limit ?2)
