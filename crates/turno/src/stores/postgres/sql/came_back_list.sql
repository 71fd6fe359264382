-- name: came_back_list
select c.seq, c.fence, c.how, c.at, c.holder, c.handed_at, c.error
from unnest($1::bigint[]) as u (seq)
join turno.came_back c on c.seq = u.seq
order by c.seq, c.fence
