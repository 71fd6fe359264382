-- stock_save
update turno.stock set quantity = quantity + $2::bigint where sku = $1::text
