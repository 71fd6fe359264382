-- name: audit_head
select n, hash from turno.audit_head

-- name: audit_head_save
-- Runs under the head's lock, so that the head always matches the last entry.
update turno.audit_head set n = $1::bigint, hash = $2::bytea

-- name: audit_lock
-- The last lock of every transaction that writes an entry: two transactions that read the same head would fork the
-- chain. The lock also serialises all changes of access.
select n, hash from turno.audit_head for update
