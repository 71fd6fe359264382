-- name: audit_before
-- Newest first, along the primary key, for display.
select n, at, actor, via, action, resource, detail, hash
from audit
where n < ?1 and (?2 is null or action = ?2) and (?3 is null or actor = ?3 or via = ?3)
order by n desc
limit ?4
