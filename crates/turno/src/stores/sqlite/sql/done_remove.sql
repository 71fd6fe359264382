-- done_remove
-- A finished item is re-queued.
delete from done where seq = ?1
