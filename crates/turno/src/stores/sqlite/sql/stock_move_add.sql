-- stock_move_add
-- Without `on conflict`: if a line's effect were there twice, the whole line fails here.
insert into stock_move (task, line, sku, delta, serials, fence, by_user, at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
