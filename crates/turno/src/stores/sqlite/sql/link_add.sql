-- link_add
insert into link (hash, user_id, expires_at, created_at) values (?1, ?2, ?3, ?4)
