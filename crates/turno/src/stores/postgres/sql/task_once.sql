-- name: task_once
-- The task with this once key, with its lines in one statement, so that both are of one snapshot.
select t.id, t.title, t.status, t.created_at, t.created_by, t.updated_at, t.finalized,
       l.number, l.movement, l.sku, l.quantity, l.serials, l.status, l.error, l.applied_at, l.applied_fence, l.applied_by
from turno.task t
left join turno.task_line l on l.task = t.id
where t.once_scope = $1::text and t.once_key = $2::text
order by l.number
