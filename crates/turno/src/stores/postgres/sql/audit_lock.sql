-- audit_lock
-- The last lock of every transaction that writes an entry: two that read the same head would fork the chain.
-- It is also the mutex of all changes of access.
select n, hash from turno.audit_head for update
