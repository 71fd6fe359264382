-- answer_keep
-- The first one wins, unless it is so old (?7) that it only waits to be forgotten.
insert into answer (scope, key, fingerprint, status, body, made_at)
values (?1, ?2, ?3, ?4, ?5, ?6)
on conflict (scope, key) do update set
    fingerprint = excluded.fingerprint,
    status = excluded.status,
    body = excluded.body,
    made_at = excluded.made_at
where answer.made_at < ?7
