-- token_count
-- Sessions are not counted: they die by themselves.
select count(*) from token where user_id = ?1 and parent is null and not console
