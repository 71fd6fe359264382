-- line_read
select number, movement, sku, quantity, serials, status, error, applied_at, applied_fence, applied_by from task_line where task = ?1 and number = ?2
