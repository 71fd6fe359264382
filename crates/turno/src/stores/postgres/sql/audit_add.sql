-- name: audit_add
insert into turno.audit (n, at, actor, via, action, resource, detail, hash)
select u.n, u.at, u.actor, u.via, u.action, u.resource, u.detail, u.hash
from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[])
    as u (n, at, actor, via, action, resource, detail, hash)
