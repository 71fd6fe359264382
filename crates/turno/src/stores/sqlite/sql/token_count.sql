-- token_count
-- Sessions are not counted, because they expire by themselves.
select count(*) from token where user_id = ?1 and parent is null and not console
