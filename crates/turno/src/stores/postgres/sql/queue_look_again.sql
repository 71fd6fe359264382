-- queue_look_again
-- By another policy a head may be due sooner: it is worth a look from its first instant on, and a claim puts back what is not
-- due. Whatever somebody decides about at this moment is left to them.
update turno.hot h
set ready_at = h.not_before
from (
    select seq from turno.hot
    where queue = $1::int and ready_at > not_before
    for update skip locked
) waiting
where h.seq = waiting.seq
