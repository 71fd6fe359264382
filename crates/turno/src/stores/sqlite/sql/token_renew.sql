-- token_renew
-- Never shorter than before: two requests renew it in any order.
update token set expires_at = ?2
where id = ?1 and console and expires_at < ?2
