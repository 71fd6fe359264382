-- audit_head_save
-- Runs under the head's lock, so that the head always matches the last entry.
update turno.audit_head set n = $1::bigint, hash = $2::bytea
