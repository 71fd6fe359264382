-- name: hot_first_lock
-- Items without a lane have no lane lock, so their rows are locked, in one order. The fence is compared here.
-- `expires_at` is not a condition, because then the planner would choose its index while nothing is handed out.
select u.n, {h.hot}, b.id
from unnest($1::int[], $2::int[], $3::bigint[], $4::bigint[], $5::boolean[]) as u (n, queue, seq, fence, named)
join turno.hot h on h.seq = u.seq and h.queue = u.queue and h.lane is null
    and h.fence = u.fence
left join turno.body b on b.seq = case when u.named then h.seq end
order by h.seq
for update of h
