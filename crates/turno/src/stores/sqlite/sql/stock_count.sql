-- stock_count
-- Units with serial numbers, along the primary key.
select count(*) from stock_serial where sku = ?1
