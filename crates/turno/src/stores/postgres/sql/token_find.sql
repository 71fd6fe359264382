-- name: token_find
-- The token with its owner. Sent after the clock: an epoch read after the token could already be that of its
-- revocation.
select t.id, t.hash, t.user_id, t.name, t.machine, t.scope, t.resources, t.expires_at, t.created_at, t.created_by,
       t.parent, t.console, t.last_used_at, t.queues, t.reads,
       p.id, p.name, p.role, p.disabled, p.password, p.created_at, p.issuer, p.subject
from turno.token t
left join turno.person p on p.id = t.user_id
where t.hash = $1::bytea
