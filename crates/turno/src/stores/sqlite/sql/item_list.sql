-- name: item_list
-- By seq. `not indexed` forces the primary key: by (queue, id) every page would sort the whole queue.
select seq, queue, id, key, action,
    iif(octet_length(payload) <= ?4, payload, 'null'), enqueued_at, octet_length(payload),
    (select sum(octet_length(error)) from attempt_error where attempt_error.seq = body.seq)
from body not indexed
where queue = ?1 and seq > ?2
order by seq
limit ?3
