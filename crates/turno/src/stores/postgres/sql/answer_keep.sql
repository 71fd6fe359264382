-- name: answer_keep
-- The first answer wins, unless it is older than $7 and only waits to be purged.
insert into turno.answer (scope, key, fingerprint, status, body, made_at)
values ($1::text, $2::text, $3::bytea, $4::int, $5::text, $6::bigint)
on conflict (scope, key) do update
set fingerprint = excluded.fingerprint, status = excluded.status, body = excluded.body, made_at = excluded.made_at
where answer.made_at < $7::bigint
