-- name: hot_expired
-- One row per delivery. All items of a delivery expire at the same instant, so `with ties` never cuts one in two. The
-- settlement decides again under the locks; this only finds candidates.
select h.queue, min(h.seq), h.lane, h.fence, count(*)
from (
    select e.queue, e.seq, e.lane, e.fence, e.expires_at
    from turno.hot e
    where e.expires_at >= $1::bigint and e.expires_at <= $2::bigint
    order by e.expires_at
    fetch first ($3::bigint) rows with ties
) h
group by h.queue, h.lane, h.fence, case when h.lane is null then h.seq end
order by min(h.expires_at), min(h.seq)
