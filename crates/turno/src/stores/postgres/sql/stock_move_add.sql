-- stock_move_add
-- The primary key is the line: if two transactions ever apply the same line, the second fails as a whole.
insert into turno.stock_move (task, line, sku, delta, serials, fence, by_user, at)
values ($1::bigint, $2::int, $3::text, $4::bigint, $5::text, $6::bigint, $7::text, $8::bigint)
