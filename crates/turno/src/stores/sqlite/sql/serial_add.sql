-- serial_add
insert into stock_serial (sku, serial) values (?1, ?2)
