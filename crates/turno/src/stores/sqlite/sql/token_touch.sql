-- token_touch
-- Never moves back: two instances may write in any order.
update token set last_used_at = ?2
where id = ?1 and (last_used_at is null or last_used_at < ?2)
