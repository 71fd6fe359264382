-- audit_head
select n, hash from turno.audit_head
