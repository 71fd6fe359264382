-- name: line_save
insert into turno.task_line
    (task, number, movement, sku, quantity, serials, status, error, applied_at, applied_fence, applied_by)
select $1::bigint, u.number, u.movement, u.sku, u.quantity, u.serials, u.status, u.error, u.applied_at, u.applied_fence,
       u.applied_by
from unnest($2::int[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::bigint[],
            $10::bigint[], $11::text[])
    as u (number, movement, sku, quantity, serials, status, error, applied_at, applied_fence, applied_by)
on conflict (task, number) do update
set movement = excluded.movement, sku = excluded.sku, quantity = excluded.quantity, serials = excluded.serials,
    status = excluded.status, error = excluded.error, applied_at = excluded.applied_at,
    applied_fence = excluded.applied_fence, applied_by = excluded.applied_by
