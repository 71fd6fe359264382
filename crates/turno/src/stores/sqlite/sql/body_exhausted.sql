-- body_exhausted
-- Parked in their lanes (hot_parked), or finished (done_unacked).
with page (seq) as (
    select seq from (select seq from hot where queue = ?1 and parked and seq > ?2 order by seq limit ?3)
    union all
    select seq from (select seq from done where queue = ?1 and ended <> 0 and ended = 1 and seq > ?2 order by seq limit ?3)
    order by 1
    limit ?3
)
select body.seq, body.queue, body.id, body.key, body.action, body.payload, body.enqueued_at
from page
cross join body on body.seq = page.seq
order by page.seq
