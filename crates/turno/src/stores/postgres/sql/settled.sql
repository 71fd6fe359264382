-- settled
-- What is left of deliveries that are not live any more: a last line, a failed attempt, or that it came back, which the
-- item keeps, finished or not.
select (u.n - 1)::int, case when d.fence = u.fence then d.ended end,
       coalesce(coalesce(h.returned, d.returned) = u.fence, false),
       coalesce(coalesce(h.superseded, d.superseded) = u.fence, false), e.error, e.retry_at
from unnest($1::bigint[], $2::bigint[]) with ordinality as u (seq, fence, n)
left join turno.done d on d.seq = u.seq
left join turno.hot h on h.seq = u.seq
left join lateral (
    select a.error, a.retry_at from turno.attempt_error a where a.seq = u.seq and a.fence = u.fence order by a.at desc limit 1
) e on true
