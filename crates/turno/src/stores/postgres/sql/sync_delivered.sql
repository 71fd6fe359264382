-- name: sync_delivered
-- The newer revision wins: two workers never have a key at the same time, but a slow one may write after the next.
insert into turno.sync_delivered as d (queue, key, revision, action, digest, at)
values ($1::int, $2::text, $3::bigint, $4::text, $5::bytea, $6::bigint)
on conflict (queue, key) do update
set revision = excluded.revision, action = excluded.action, digest = excluded.digest, at = excluded.at
where d.revision <= excluded.revision
