-- name: queue_look_again
-- Under another policy a head may be due sooner. So every head is looked at from its earliest instant on, and a claim
-- puts back those that are not due. Skips locked heads, because another transaction is deciding about them.
update turno.hot h
set ready_at = h.not_before
from (
    select seq from turno.hot
    where queue = $1::int and ready_at > not_before
    for update skip locked
) waiting
where h.seq = waiting.seq
