-- name: repair_rows
-- The first rows of a lane and every row that is ready, handed out or damaged; or one row without a lane.
select {h.hot},
       b.id, b.key, d.seq is not null
from turno.hot h
left join turno.body b on b.seq = h.seq
left join turno.done d on d.seq = h.seq
where h.seq = $3::bigint
    or (
        h.queue = $1::int and h.lane = $2::bigint
        and (
            h.ready_at is not null or h.expires_at is not null or b.seq is null or d.seq is not null
            or h.seq in (
                select f.seq from turno.hot f
                where f.queue = $1::int and f.lane = $2::bigint
                order by f.seq limit $4::bigint
            )
        )
    )
order by h.seq
limit $5::bigint
