-- name: lease_list
-- Scans a range of names in the primary key; a page starts right behind the last name of the previous one. A blob is
-- greater than every text, so without an upper bound the range ends with the table.
select holder_user, holder_name, holder_instance, fence, claim, ttl_ms, locked_at, worked_at, heartbeat_at,
    expires_at, idle, waiting,
    ended_user, ended_name, ended_instance, ended_fence, ended_claim, ended_ttl_ms, ended_locked_at, ended_worked_at,
    ended_heartbeat_at, ended_expires_at, ended_idle, ended_at, ended_reason, ended_cause, ended_by, ended_note,
    look_at, resource
from lease
where resource >= ?1 and resource < coalesce(?2, x'') and fence is not null and (?3 is null or holder_user = ?3)
order by resource
limit ?4
