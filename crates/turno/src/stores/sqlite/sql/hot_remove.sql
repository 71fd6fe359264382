-- hot_remove
delete from hot where seq = ?1
