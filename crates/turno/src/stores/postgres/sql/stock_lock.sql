-- stock_lock
-- One line after another per article; what is in stock is read next, behind the lock.
select sku from turno.stock where sku = $1::text for update
