-- repair_find
-- What there is of an item: its body, an unfinished row, a last line.
select b.id, b.key, b.enqueued_at,
       exists (select 1 from hot h where h.seq = ?1),
       exists (select 1 from done d where d.seq = ?1)
from (select 1) one
left join body b on b.seq = ?1
