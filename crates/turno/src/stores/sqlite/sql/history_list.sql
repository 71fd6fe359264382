-- name: history_list
-- Newest first. Fences only grow, so this is the primary key read backwards.
select {grant}, at, reason, cause, by_user, note
from lease_history
where resource = ?1 and fence < ?3
order by fence desc
limit ?2
