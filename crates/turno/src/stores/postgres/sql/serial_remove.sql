-- serial_remove
delete from turno.stock_serial k using unnest($2::text[]) as u (serial) where k.sku = $1::text and k.serial = u.serial
