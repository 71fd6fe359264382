-- name: came_back_add
insert into came_back (seq, fence, how, at, holder, handed_at, error)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7)

-- name: came_back_of_fence
select how, holder
from came_back
where seq = ?1 and fence = ?2

-- name: came_back_remove
delete from came_back where seq = ?1

-- name: came_back_trim
-- Keeps only the newest ?2 hand-outs of an item.
delete from came_back
where seq = ?1
    and fence <= (select o.fence from came_back o where o.seq = ?1 order by o.fence desc limit 1 offset ?2)
