-- move_add
-- Its key is the line: should two transactions ever get here for the same one, the second fails as a whole.
insert into turno.stock_move (task, line, sku, delta, serials, fence, by_user, at)
values ($1::bigint, $2::int, $3::text, $4::bigint, $5::text, $6::bigint, $7::text, $8::bigint)
