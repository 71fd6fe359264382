-- audit_head_save
-- Only moves forward. Otherwise no row changes, which the caller treats as an error.
update audit_head set n = ?1, hash = ?2 where n < ?1
