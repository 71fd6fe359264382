-- name: absorber
-- Finds the item of the key that was unfinished when the change with this id arrived. A key has at most one at a time;
-- if two share the instant, the later one.
select b.id
from turno.absorbed a
join turno.body b on b.queue = a.queue and b.key = $3::text and b.enqueued_at <= a.at
left join turno.done d on d.seq = b.seq
where a.queue = $1::int and a.id = $2::text and (d.at is null or d.at >= a.at)
order by b.seq desc
limit 1
