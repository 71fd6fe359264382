-- serial_remove
delete from stock_serial where sku = ?1 and serial = ?2
