-- name: check_errors_kept
-- Q9: An exhausted item keeps its errors.
select json_object('place', x.seq, 'problem', 'no_error')
from (
    select h.seq from hot h where h.parked
    union all
    select d.seq from done d where d.ended = 1
) x
where not exists (select 1 from attempt_error e where e.seq = x.seq)
order by x.seq
limit ?1
