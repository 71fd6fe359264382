-- came_back_trim
-- Keeps only the newest ?2 hand-outs of an item.
delete from came_back
where seq = ?1
    and fence <= (select o.fence from came_back o where o.seq = ?1 order by o.fence desc limit 1 offset ?2)
