-- name: history_add
insert into turno.lease_history
    (resource, fence, holder_user, holder_name, holder_instance, claim, ttl_ms, locked_at, worked_at, heartbeat_at,
     expires_at, idle, ended_at, reason, cause, by_user, note)
select u.resource, u.fence, u.holder_user, u.holder_name, u.holder_instance, u.claim, u.ttl_ms, u.locked_at, u.worked_at,
       u.heartbeat_at, u.expires_at, u.idle, u.ended_at, u.reason, u.cause, u.by_user, u.note
from unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[],
            $9::bigint[], $10::bigint[], $11::bigint[], $12::boolean[], $13::bigint[], $14::text[], $15::text[],
            $16::text[], $17::text[])
    as u (resource, fence, holder_user, holder_name, holder_instance, claim, ttl_ms, locked_at, worked_at, heartbeat_at,
          expires_at, idle, ended_at, reason, cause, by_user, note)
