-- name: token_touch
-- Never moves back: two instances may write in any order. Skips rows that are being removed, because an approximate
-- time suffices; because this statement never waits, it is part of no deadlock.
update turno.token t
set last_used_at = greatest(coalesce(t.last_used_at, f.at), f.at)
from (
    select k.id, u.at
    from unnest($1::text[], $2::bigint[]) as u (id, at)
    join turno.token k on k.id = u.id
    for update of k skip locked
) f
where t.id = f.id
