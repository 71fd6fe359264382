-- token_count
select count(*) from turno.token where user_id = $1::text
