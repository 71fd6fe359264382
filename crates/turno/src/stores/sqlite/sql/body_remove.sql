-- body_remove
delete from body where seq = ?1
