-- name: line_list
select number, movement, sku, quantity, serials, status, error, applied_at, applied_fence, applied_by from task_line where task = ?1 order by number

-- name: line_read
select number, movement, sku, quantity, serials, status, error, applied_at, applied_fence, applied_by from task_line where task = ?1 and number = ?2

-- name: line_remove
-- Deletes all lines of a draft before its new ones are written.
delete from task_line where task = ?1
