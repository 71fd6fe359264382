-- name: lease_read
-- Every heartbeat runs this: one search by primary key. The columns of a grant have the same order in every statement,
-- so that one function reads them all.
select holder_user, holder_name, holder_instance, fence, claim, ttl_ms, locked_at, worked_at, heartbeat_at,
    expires_at, idle, waiting,
    ended_user, ended_name, ended_instance, ended_fence, ended_claim, ended_ttl_ms, ended_locked_at, ended_worked_at,
    ended_heartbeat_at, ended_expires_at, ended_idle, ended_at, ended_reason, ended_cause, ended_by, ended_note,
    look_at
from lease
where resource = ?1
