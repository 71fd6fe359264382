-- stock_remove
-- Deletes only a row that this transaction has inserted, and that no other transaction has seen.
delete from turno.stock where sku = $1::text and quantity = 0
