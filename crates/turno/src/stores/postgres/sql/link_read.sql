-- link_read
select hash, user_id, expires_at, created_at from turno.link where hash = $1::bytea
