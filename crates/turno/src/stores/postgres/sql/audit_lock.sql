-- audit_lock
-- The last lock of every transaction that writes an entry: two transactions that read the same head would fork the
-- chain. The lock also serialises all changes of access.
select n, hash from turno.audit_head for update
