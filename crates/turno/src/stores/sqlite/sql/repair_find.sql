-- name: repair_find
-- The rows of an item: its body, a row in `hot`, a row in `done`.
select b.id, b.key, b.enqueued_at,
       exists (select 1 from hot h where h.seq = ?1),
       exists (select 1 from done d where d.seq = ?1)
from (select 1) one
left join body b on b.seq = ?1
