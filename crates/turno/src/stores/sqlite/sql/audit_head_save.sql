-- audit_head_save
-- Only ever forward: no row is changed otherwise, which the caller notices.
update audit_head set n = ?1, hash = ?2 where n < ?1
