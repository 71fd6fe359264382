-- audit_add
-- Without `on conflict`: a number that exists already means that the chain has forked, and must fail.
insert into audit (n, at, actor, via, action, resource, detail, hash)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
