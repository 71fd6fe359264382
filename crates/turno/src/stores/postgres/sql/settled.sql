-- name: settled
-- Reads the rows that ended deliveries have left: a row in `done`, a returned hand-out, or a failed attempt.
select (u.n - 1)::int, case when d.fence = u.fence then d.ended end, c.how, e.error, e.retry_at, e.expired,
       coalesce(e.holder, case when d.fence = u.fence then d.holder end, c.holder)
from unnest($1::bigint[], $2::bigint[]) with ordinality as u (seq, fence, n)
left join turno.done d on d.seq = u.seq
left join turno.came_back c on c.seq = u.seq and c.fence = u.fence
left join lateral (
    select a.error, a.retry_at, a.expired, a.holder
    from turno.attempt_error a
    where a.seq = u.seq and a.fence = u.fence
    order by a.at desc
    limit 1
) e on true
