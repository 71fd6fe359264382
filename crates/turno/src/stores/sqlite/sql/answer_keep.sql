-- name: answer_keep
-- The first answer wins, unless it is older than ?7 and only waits to be purged.
insert into answer (scope, key, fingerprint, status, body, made_at)
values (?1, ?2, ?3, ?4, ?5, ?6)
on conflict (scope, key) do update set
    fingerprint = excluded.fingerprint,
    status = excluded.status,
    body = excluded.body,
    made_at = excluded.made_at
where answer.made_at < ?7
