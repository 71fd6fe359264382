-- name: line_lock
-- Two finalizes of one task may run on two instances: the second waits here and then finds the line applied.
select number, movement, sku, quantity, serials, status, error, applied_at, applied_fence, applied_by
from turno.task_line
where task = $1::bigint and number = $2::int
for update
