-- name: absorber
-- Finds the item of the key that was unfinished when the change with this id arrived. A key has at most one at a time;
-- if two share the instant, the later one.
select body.id
from absorbed
join body indexed by body_key on body.queue = absorbed.queue and body.key = ?3 and body.enqueued_at <= absorbed.at
left join done on done.seq = body.seq
where absorbed.queue = ?1 and absorbed.id = ?2 and (done.at is null or done.at >= absorbed.at)
order by body.seq desc
limit 1
