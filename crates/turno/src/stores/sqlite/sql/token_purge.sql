-- token_purge
-- Oldest expiry first, from token_expiry.
delete from token
where id in (select id from token where expires_at < ?1 order by expires_at limit ?2)
