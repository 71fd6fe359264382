-- came_back_trim
-- Only the newest ?2 of an item stay.
delete from came_back
where seq = ?1
    and fence <= (select o.fence from came_back o where o.seq = ?1 order by o.fence desc limit 1 offset ?2)
