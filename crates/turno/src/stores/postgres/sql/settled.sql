-- settled
-- What is left of deliveries that are not live any more: a last line, a waiting item, or a failed attempt.
select (u.n - 1)::int, d.ended, h.last, e.error, e.retry_at
from unnest($1::bigint[], $2::bigint[]) with ordinality as u (seq, fence, n)
left join turno.done d on d.seq = u.seq and d.fence = u.fence
left join turno.hot h on h.seq = u.seq and h.fence = u.fence and h.expires_at is null
left join lateral (
    select a.error, a.retry_at from turno.attempt_error a where a.seq = u.seq and a.fence = u.fence order by a.at desc limit 1
) e on true
