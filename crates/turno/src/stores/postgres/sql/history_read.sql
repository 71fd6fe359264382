-- name: history_read
select holder_user, holder_name, holder_instance, fence, claim, ttl_ms, locked_at, worked_at,
       heartbeat_at, expires_at, idle, ended_at, reason, cause, by_user, note
from turno.lease_history
where resource = $1::text and fence = $2::bigint
