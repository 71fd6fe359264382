-- token_count
-- Sessions are not counted, because they expire by themselves.
select count(*) from turno.token where user_id = $1::text and parent is null and not console
