-- token_touch
-- Never back, whoever comes last. Rows that somebody is removing are skipped: about when is good enough, and who
-- waits for nobody is part of no deadlock.
update turno.token t
set last_used_at = greatest(coalesce(t.last_used_at, f.at), f.at)
from (
    select k.id, u.at
    from unnest($1::text[], $2::bigint[]) as u (id, at)
    join turno.token k on k.id = u.id
    for update of k skip locked
) f
where t.id = f.id
