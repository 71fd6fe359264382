-- name: task_list
-- The newest tasks with their lines. Only one of three parts runs: tasks in one status by its index, all tasks, or, for
-- tasks with an ownership ($4), those in the two statuses that can have one.
select t.id, t.title, t.status, t.created_at, t.created_by, t.updated_at, t.finalized,
       l.number, l.movement, l.sku, l.quantity, l.serials, l.status, l.error, l.applied_at, l.applied_fence, l.applied_by
from (
    (
        select k.id, k.title, k.status, k.created_at, k.created_by, k.updated_at, k.finalized
        from turno.task k
        where k.status = $1::text and k.id < $2::bigint
            and (not $4::boolean
                or exists (select from turno.lease e where e.resource = 'task:' || k.id and e.fence is not null))
        order by k.id desc
        limit $3::bigint
    )
    union all
    (
        select k.id, k.title, k.status, k.created_at, k.created_by, k.updated_at, k.finalized
        from turno.task k
        where $1::text is null and not $4::boolean and k.id < $2::bigint
        order by k.id desc
        limit $3::bigint
    )
    union all
    (
        select k.id, k.title, k.status, k.created_at, k.created_by, k.updated_at, k.finalized
        from (values ('processing'), ('partially_completed')) as s (status)
        join turno.task k on k.status = s.status
        where $1::text is null and $4::boolean and k.id < $2::bigint
            and exists (select from turno.lease e where e.resource = 'task:' || k.id and e.fence is not null)
        order by k.id desc
        limit $3::bigint
    )
) t
left join turno.task_line l on l.task = t.id
order by t.id desc, l.number
