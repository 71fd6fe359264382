-- done_remove
-- A person sends a finished item round again.
delete from done where seq = ?1
