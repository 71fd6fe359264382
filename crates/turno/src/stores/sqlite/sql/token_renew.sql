-- token_renew
-- Never shortens: two requests may renew a session in any order.
update token set expires_at = ?2
where id = ?1 and console and expires_at < ?2
