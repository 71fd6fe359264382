-- name: token_renew
-- Never shortens: two requests may renew a session in any order. Skips a locked row, which is being removed or renewed;
-- because this statement never waits, it is part of no deadlock.
update turno.token t
set expires_at = $2::bigint
from (
    select k.id
    from turno.token k
    where k.id = $1::text and k.console and k.expires_at < $2::bigint
    for update of k skip locked
) f
where t.id = f.id
returning t.id
