-- name: check_revisions
-- S4: The revision handed out last is never newer than the item's newest revision.
select 'item ' || h.seq, 'revision ' || h.handed || ' was handed out, the newest is ' || h.revision
from hot h
where h.handed > h.revision
order by h.seq
limit ?1
