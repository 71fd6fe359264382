-- name: lease_work
-- A line was applied, so the holder has worked. Heartbeats may have arrived since the row was read, so no time moves
-- back. If the expired ownership was ended meanwhile, the fence differs and nothing is written.
update turno.lease
set worked_at = greatest(worked_at, $3::bigint),
    heartbeat_at = greatest(heartbeat_at, $4::bigint),
    expires_at = greatest(expires_at, $5::bigint),
    idle = $6::boolean
where resource = $1::text and fence = $2::bigint
