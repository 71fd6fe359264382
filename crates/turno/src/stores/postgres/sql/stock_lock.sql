-- stock_lock
-- Serialises lines of one article. The stock is read by the next statement, behind the lock.
select sku from turno.stock where sku = $1::text for update
