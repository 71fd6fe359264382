-- name: history_read
-- For a holder whose ownership ended before the ending that the lease's row keeps.
select {grant}, at, reason, cause, by_user, note
from lease_history
where resource = ?1 and fence = ?2
