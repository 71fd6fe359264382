-- stock_read
select s.quantity, array(select k.serial from turno.stock_serial k where k.sku = s.sku order by k.serial)
from turno.stock s
where s.sku = $1::text
