-- claim_heads
-- The only place where due heads are chosen. Two callers never get the same one and never wait for each other.
-- A head that somebody changed meanwhile is checked again by the same conditions after it was locked. Its number,
-- the fence it may get, is taken after that: outside of the locking select. The floor has two columns, since many
-- items share a millisecond.
with head as materialized (
    select h.seq, h.queue, h.lane, h.enqueued_at, h.not_before, h.ready_at, h.expires_at, h.claimed_at,
           h.attempt, h.fence, h.grp, h.last, h.revision, h.handed, h.parked, h.holder, h.size
    from turno.hot h
    where h.queue = $1::int and (h.ready_at, h.seq) >= ($2::bigint, $3::bigint) and h.ready_at <= $4::bigint
    order by h.ready_at, h.seq
    limit $5::bigint
    for update skip locked
)
select h.seq, h.queue, h.lane, h.enqueued_at, h.not_before, h.ready_at, h.expires_at, h.claimed_at,
       h.attempt, h.fence, h.grp, h.last, h.revision, h.handed, h.parked, h.holder, h.size,
       nextval('turno.number')
from head h
