-- serial_add
insert into turno.stock_serial (sku, serial) select $1::text, u.serial from unnest($2::text[]) as u (serial)
