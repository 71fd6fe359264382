-- name: history_read
-- For a holder whose ownership ended before the ending that the lease's row keeps.
select holder_user, holder_name, holder_instance, fence, claim, ttl_ms, locked_at, worked_at, heartbeat_at,
    expires_at, idle, at, reason, cause, by_user, note
from lease_history
where resource = ?1 and fence = ?2
