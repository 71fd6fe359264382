-- name: check_revisions
-- S4: The revision handed out last is never newer than the item's newest revision.
select json_object('place', h.seq, 'problem', 'revision_ahead', 'handed', h.handed, 'newest', h.revision)
from hot h
where h.handed > h.revision
order by h.seq
limit ?1
