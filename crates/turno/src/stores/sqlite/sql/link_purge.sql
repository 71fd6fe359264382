-- link_purge
-- Oldest expiry first, from link_expiry.
delete from link where hash in (select hash from link where expires_at < ?1 order by expires_at limit ?2)
