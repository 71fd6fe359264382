-- name: hot_heads
-- The only statement that chooses due heads. `skip locked` keeps two claims from getting the same head, and from
-- waiting for each other. PostgreSQL checks the conditions again after it has locked a row that changed meanwhile. The
-- number, which becomes the fence, is taken outside of the locking select, so only for rows that are locked. The floor
-- has two columns, because many items share a millisecond. octet_length reads only the header of a long payload.
with head as materialized (
    select {h.hot}
    from turno.hot h
    where h.queue = $1::int and (h.ready_at, h.seq) >= ($2::bigint, $3::bigint) and h.ready_at <= $4::bigint
    order by h.ready_at, h.seq
    limit $5::bigint
    for update skip locked
)
select {h.hot},
       nextval('turno.number'),
       (select octet_length(b.payload) from turno.body b where b.seq = h.seq)
from head h
