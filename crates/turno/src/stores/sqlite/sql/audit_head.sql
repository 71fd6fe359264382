-- audit_head
-- Within a write transaction no other one can move the head before the commit, so the chain never forks.
select n, hash from audit_head
