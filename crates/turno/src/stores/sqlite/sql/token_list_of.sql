-- token_list_of
-- From token_user; a user has few tokens, so sorting them is cheap.
select id, hash, user_id, name, machine, scope, resources, expires_at, created_at, created_by, parent, console, last_used_at from token where user_id = ?3 and id > ?1 order by id limit ?2
