-- repair_find
-- What there is of an item: its body, an unfinished row, a last line.
select b.id, b.key, b.enqueued_at,
       exists (select 1 from turno.hot h where h.seq = $1::bigint),
       exists (select 1 from turno.done d where d.seq = $1::bigint)
from (select 1) one
left join turno.body b on b.seq = $1::bigint
