-- name: serial_add
insert into stock_serial (sku, serial) values (?1, ?2)

-- name: serial_find
select 1 from stock_serial where sku = ?1 and serial = ?2

-- name: serial_list
select serial from stock_serial where sku = ?1 order by serial

-- name: serial_remove
delete from stock_serial where sku = ?1 and serial = ?2

-- name: stock_count
-- Units with serial numbers, along the primary key.
select count(*) from stock_serial where sku = ?1

-- name: stock_move_add
-- Without `on conflict`: if a line were ever applied twice, the second application fails as a whole.
insert into stock_move (task, line, sku, delta, serials, fence, by_user, at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- name: stock_read
select quantity from stock where sku = ?1

-- name: stock_save
-- The table's constraint refuses a quantity below zero.
insert into stock (sku, quantity) values (?1, ?2)
on conflict (sku) do update set quantity = excluded.quantity
