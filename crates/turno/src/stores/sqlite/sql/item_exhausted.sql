-- name: item_exhausted
-- Items parked in their lanes (hot_parked), finished as exhausted (done_unacked), or handed out for the last time and
-- expired but not settled yet (hot_expiry). The rule is Item::lapsed.
with page (seq) as (
    select seq from (select seq from hot where queue = ?1 and parked and seq > ?2 order by seq limit ?3)
    union all
    select seq from (
        select seq from hot indexed by hot_expiry
        where expires_at <= ?4 and queue = ?1 and seq > ?2 and not parked and revision <= handed
            and attempt >= (select policy ->> 'max_attempts' from queue where id = ?1)
        order by seq limit ?3)
    union all
    select seq from (select seq from done where queue = ?1 and ended <> 0 and ended = 1 and seq > ?2 order by seq limit ?3)
    order by 1
    limit ?3
)
select body.seq, body.queue, body.id, body.key, body.action,
    iif(octet_length(body.payload) <= ?5, body.payload, 'null'), body.enqueued_at, octet_length(body.payload),
    (select sum(octet_length(error)) from attempt_error where attempt_error.seq = body.seq)
from page
cross join body on body.seq = page.seq
order by page.seq
