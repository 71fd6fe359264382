-- audit_head
-- Inside a write transaction nobody else can move it before the commit, so the chain never forks.
select n, hash from audit_head
