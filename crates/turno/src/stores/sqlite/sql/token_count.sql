-- token_count
select count(*) from token where user_id = ?1
