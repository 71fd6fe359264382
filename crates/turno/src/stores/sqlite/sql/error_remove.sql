-- error_remove
delete from attempt_error where seq = ?1
