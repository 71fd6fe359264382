-- name: came_back_list
select seq, fence, how, at, holder, handed_at, error
from came_back
where seq = ?1
order by fence
