-- stock_remove
-- Only what this transaction has made: nobody else has seen it.
delete from turno.stock where sku = $1::text and quantity = 0
