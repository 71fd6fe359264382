-- name: audit_add
-- Without `on conflict`: a number that exists already means that the chain has forked, and must fail.
insert into audit (n, at, actor, via, action, resource, detail, hash)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- name: audit_head
-- Within a write transaction no other one can move the head before the commit, so the chain never forks.
select n, hash from audit_head

-- name: audit_head_save
-- Only moves forward. Otherwise no row changes, which the caller treats as an error.
update audit_head set n = ?1, hash = ?2 where n < ?1
