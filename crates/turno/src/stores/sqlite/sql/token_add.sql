-- token_add
insert into token (id, hash, user_id, name, machine, scope, resources, expires_at, created_at, created_by, parent, console, last_used_at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
