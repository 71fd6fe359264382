-- name: check_errors_kept
-- Q9: An exhausted item keeps its errors.
select json_build_object('place', x.seq, 'problem', 'no_error')::text
from (
    select h.seq from turno.hot h where h.parked
    union all
    select d.seq from turno.done d where d.ended = 1
) x
where not exists (select 1 from turno.attempt_error e where e.seq = x.seq)
order by x.seq
limit $1::bigint
