-- name: history_after
-- Oldest first, along the primary key.
select {grant}, at, reason, cause, by_user, note
from lease_history
where resource = ?1 and fence > ?3
order by fence
limit ?2
