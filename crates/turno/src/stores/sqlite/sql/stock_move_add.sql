-- stock_move_add
-- Without `on conflict`: if a line were ever applied twice, the second application fails as a whole.
insert into stock_move (task, line, sku, delta, serials, fence, by_user, at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
