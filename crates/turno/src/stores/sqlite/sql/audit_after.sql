-- name: audit_after
-- Oldest first, along the primary key, for following the chain.
select n, at, actor, via, action, resource, detail, hash
from audit
where n > ?1 and (?2 is null or action = ?2) and (?3 is null or actor = ?3 or via = ?3)
order by n
limit ?4
