-- serial_find
select 1 from stock_serial where sku = ?1 and serial = ?2
