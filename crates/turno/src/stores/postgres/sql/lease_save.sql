-- name: lease_save
-- `look_at` is the only indexed column here. A heartbeat writes the value that it read, so its row version stays in its
-- page and no index is touched.
update turno.lease l
set holder_user = u.holder_user, holder_name = u.holder_name, holder_instance = u.holder_instance,
    fence = u.fence, claim = u.claim, ttl_ms = u.ttl_ms, locked_at = u.locked_at, worked_at = u.worked_at,
    heartbeat_at = u.heartbeat_at, expires_at = u.expires_at, idle = u.idle, waiting = u.waiting, ended = u.ended,
    look_at = u.look_at
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
            $9::bigint[], $10::bigint[], $11::bigint[], $12::boolean[], $13::text[], $14::text[], $15::bigint[])
    as u (resource, {grant}, waiting, ended, look_at)
where l.resource = u.resource
