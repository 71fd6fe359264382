-- name: audit_before
-- Only one half runs: entries about one resource by its index, or all entries by number. A single condition with "or
-- null" would rule out the index on the resource.
(
    select a.n, a.at, a.actor, a.via, a.action, a.resource, a.detail, a.hash
    from turno.audit a
    where a.resource = $2::text and a.n < $1::bigint
        and ($3::text is null or a.action = $3::text) and ($4::text is null or a.actor = $4::text or a.via = $4::text)
    order by a.n desc
    limit $5::bigint
)
union all
(
    select a.n, a.at, a.actor, a.via, a.action, a.resource, a.detail, a.hash
    from turno.audit a
    where $2::text is null and a.n < $1::bigint
        and ($3::text is null or a.action = $3::text) and ($4::text is null or a.actor = $4::text or a.via = $4::text)
    order by a.n desc
    limit $5::bigint
)
