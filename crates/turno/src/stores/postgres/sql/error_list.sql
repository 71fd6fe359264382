-- name: error_list
select e.seq, e.attempt, e.fence, e.at, e.error, e.retry_at, e.holder, e.handed_at, e.expired
from unnest($1::bigint[]) as u (seq)
join turno.attempt_error e on e.seq = u.seq
order by e.seq, e.at, e.fence
