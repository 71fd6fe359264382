-- audit_move
-- Behind the lock: the head is where the last entry is.
update turno.audit_head set n = $1::bigint, hash = $2::bytea
