-- name: lease_save
-- Inserts a resource never seen. A missing row needs no lock, because there is only one writer at a time.
insert into lease (
    {grant}, waiting, {ended}, resource
)
values (
    ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24,
    ?25, ?26, ?27, ?28, ?29
)
on conflict (resource) do update set
    holder_user = excluded.holder_user,
    holder_name = excluded.holder_name,
    holder_instance = excluded.holder_instance,
    fence = excluded.fence,
    claim = excluded.claim,
    ttl_ms = excluded.ttl_ms,
    locked_at = excluded.locked_at,
    worked_at = excluded.worked_at,
    heartbeat_at = excluded.heartbeat_at,
    expires_at = excluded.expires_at,
    idle = excluded.idle,
    waiting = excluded.waiting,
    ended_user = excluded.ended_user,
    ended_name = excluded.ended_name,
    ended_instance = excluded.ended_instance,
    ended_fence = excluded.ended_fence,
    ended_claim = excluded.ended_claim,
    ended_ttl_ms = excluded.ended_ttl_ms,
    ended_locked_at = excluded.ended_locked_at,
    ended_worked_at = excluded.ended_worked_at,
    ended_heartbeat_at = excluded.ended_heartbeat_at,
    ended_expires_at = excluded.ended_expires_at,
    ended_idle = excluded.ended_idle,
    ended_at = excluded.ended_at,
    ended_reason = excluded.ended_reason,
    ended_cause = excluded.ended_cause,
    ended_by = excluded.ended_by,
    ended_note = excluded.ended_note
