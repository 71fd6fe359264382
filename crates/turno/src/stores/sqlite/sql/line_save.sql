-- name: line_save
insert into task_line (
    number, movement, sku, quantity, serials, status, error, applied_at, applied_fence, applied_by, task
)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
on conflict (task, number) do update set
    movement = excluded.movement,
    sku = excluded.sku,
    quantity = excluded.quantity,
    serials = excluded.serials,
    status = excluded.status,
    error = excluded.error,
    applied_at = excluded.applied_at,
    applied_fence = excluded.applied_fence,
    applied_by = excluded.applied_by
