-- stock_insert
-- An article that was never moved has no row to lock. The answer says whether it was made now: if the line is refused,
-- it is taken back, so that only what was moved is in stock.
insert into turno.stock (sku, quantity) values ($1::text, 0) on conflict (sku) do nothing returning true
