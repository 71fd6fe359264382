-- name: sync_delivered
-- The newer revision wins: two workers never have a key at the same time, but a slow one may write after the next.
insert into sync_delivered (queue, key, revision, action, digest, at)
values (?1, ?2, ?3, ?4, ?5, ?6)
on conflict (queue, key) do update set
    revision = excluded.revision,
    action = excluded.action,
    digest = excluded.digest,
    at = excluded.at
where sync_delivered.revision <= excluded.revision
