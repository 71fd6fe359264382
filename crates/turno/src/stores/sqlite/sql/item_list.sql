-- name: item_list
-- By seq. `not indexed` forces the primary key: by (queue, id) every page would sort the whole queue.
select seq, queue, id, key, action, payload, enqueued_at
from body not indexed
where queue = ?1 and seq > ?2
order by seq
limit ?3
