-- queue_save
-- The version tells instances with a copy of the old policy to read it again.
update queue set policy = ?2, kind = ?3, push = ?4, version = version + 1
where id = ?1
returning id, name, policy, version, paused, purged, push
