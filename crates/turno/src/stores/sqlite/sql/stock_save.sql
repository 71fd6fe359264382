-- stock_save
-- The table's constraint refuses a quantity below zero.
insert into stock (sku, quantity) values (?1, ?2)
on conflict (sku) do update set quantity = excluded.quantity
