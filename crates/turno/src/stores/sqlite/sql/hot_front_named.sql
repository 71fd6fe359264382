-- name: hot_front_named
-- A lane's front with ids and keys. The cross join fixes the order of the tables: the lane is read from hot_lane, and
-- each body by its primary key.
select {hot.hot},
    body.id, body.key, octet_length(body.payload)
from hot
cross join body on body.seq = hot.seq
where hot.queue = ?1 and hot.lane = ?2
order by hot.seq
limit ?3
