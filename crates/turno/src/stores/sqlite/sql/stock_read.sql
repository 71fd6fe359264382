-- stock_read
select quantity from stock where sku = ?1
