-- name: body_known
-- Returns what was accepted under this id, so that a repeat can be told from a different item with the same id. Also
-- returns since when the item may be purged, which an exhausted item (ended 1) never may.
select b.seq, b.key, coalesce(b.accepted, b.payload), d.at
from body b
left join done d on d.seq = b.seq and d.ended <> 1
where b.queue = ?1 and b.id = ?2
