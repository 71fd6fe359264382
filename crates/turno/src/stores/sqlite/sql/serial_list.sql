-- serial_list
select serial from stock_serial where sku = ?1 order by serial
