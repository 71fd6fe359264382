-- name: audit_of_before
-- Entries about one resource, newest first, along audit_resource.
select n, at, actor, via, action, resource, detail, hash
from audit
where resource = ?5 and n < ?1 and (?2 is null or action = ?2) and (?3 is null or actor = ?3 or via = ?3)
order by n desc
limit ?4
