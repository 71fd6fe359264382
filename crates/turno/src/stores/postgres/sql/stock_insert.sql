-- stock_insert
-- An article that never moved has no row to lock. Returns whether the row was inserted now: if the line is refused, the
-- row is deleted again, so that only moved articles have stock.
insert into turno.stock (sku, quantity) values ($1::text, 0) on conflict (sku) do nothing returning true
