-- name: hot_first
-- Single items of lanes, under the lanes' locks. The fence is compared here. `expires_at` is not a condition, because
-- then the planner would choose its index while nothing is handed out.
select u.n, {h.hot}, b.id
from unnest($1::int[], $2::int[], $3::bigint[], $4::bigint[], $5::bigint[], $6::boolean[])
    as u (n, queue, lane, seq, fence, named)
join turno.hot h on h.seq = u.seq and h.queue = u.queue and h.lane = u.lane
    and h.fence = u.fence
left join turno.body b on b.seq = case when u.named then h.seq end
