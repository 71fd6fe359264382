-- name: lane_look
-- The first items of a lane, and behind them those that are ready or handed out. In a sound lane those are only the
-- items of a delivery. One statement, so that all rows are as of one instant.
select {f.hot}, b.id, b.key, octet_length(b.payload)
from (
    select {h.hot},
           row_number() over (order by h.seq) as place
    from hot h
    where h.queue = ?1 and h.lane = ?2
    order by h.seq
    limit ?4
) f
join body b on b.seq = f.seq
where f.place <= ?3 or f.ready_at is not null or f.expires_at is not null
