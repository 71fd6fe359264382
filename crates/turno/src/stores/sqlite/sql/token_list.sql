-- token_list
select id, hash, user_id, name, machine, scope, resources, expires_at, created_at, created_by, parent, console, last_used_at from token where id > ?1 order by id limit ?2
