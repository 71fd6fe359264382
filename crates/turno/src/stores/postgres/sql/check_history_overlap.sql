-- name: check_history_overlap
-- L12: Ownerships of a resource do not overlap: each begins after the previous one has ended.
select json_build_object('resource', x.resource, 'problem', 'overlap', 'fence', x.fence,
           'began', x.locked_at, 'ended', x.before_at)::text
from (
    select u.resource, u.fence, u.locked_at, lag(u.at) over (partition by u.resource order by u.fence) as before_at
    from (
        select h.resource, h.fence, h.locked_at, h.ended_at as at from turno.lease_history h
        union all
        select l.resource, l.fence, l.locked_at, l.expires_at from turno.lease l where l.fence is not null
    ) u
) x
where x.locked_at < x.before_at
order by x.resource, x.fence
limit $1::bigint
