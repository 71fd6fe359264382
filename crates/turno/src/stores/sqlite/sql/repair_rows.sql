-- name: repair_rows
-- The first rows of a lane and every row that is ready, handed out or damaged; or one row without a lane.
select {h.hot},
       b.id, b.key, d.seq is not null
from hot h
left join body b on b.seq = h.seq
left join done d on d.seq = h.seq
where h.seq = ?3
    or (
        h.queue = ?1 and h.lane = ?2
        and (
            h.ready_at is not null or h.expires_at is not null or b.seq is null or d.seq is not null
            or h.seq in (
                select f.seq from hot f
                where f.queue = ?1 and f.lane = ?2
                order by f.seq limit ?4
            )
        )
    )
order by h.seq
limit ?5
