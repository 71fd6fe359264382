-- name: hot_head_of_id
-- Unlike hot_heads, waits for a locked row, so that every caller who wants the same item learns its outcome. The
-- transaction holds no other lock while it waits.
with head as materialized (
    select {h.hot}
    from turno.body b
    join turno.hot h on h.seq = b.seq
    where b.queue = $1::int and b.id = $2::text and h.ready_at <= $3::bigint
    for update of h
)
select {h.hot},
       nextval('turno.number'),
       (select octet_length(b.payload) from turno.body b where b.seq = h.seq)
from head h
