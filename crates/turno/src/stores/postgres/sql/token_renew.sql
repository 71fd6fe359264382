-- token_renew
-- Never shorter than before: two requests renew it in any order. A row that is locked is being removed or renewed, and
-- who waits for nobody is part of no deadlock.
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
