-- link_add
insert into turno.link (hash, user_id, expires_at, created_at) values ($1::bytea, $2::text, $3::bigint, $4::bigint)
