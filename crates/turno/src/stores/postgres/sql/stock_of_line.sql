-- name: stock_of_line
-- The stock of a line's article: all units, units with serial numbers, and which of the line's serials are in stock.
select l.sku,
       coalesce((select s.quantity from turno.stock s where s.sku = l.sku), 0),
       (select count(*) from turno.stock_serial k where k.sku = l.sku),
       array(
           select k.serial
           from jsonb_array_elements_text(l.serials::jsonb) as w (serial)
           join turno.stock_serial k on k.sku = l.sku and k.serial = w.serial collate "C"
       )
from turno.task_line l
where l.task = $1::bigint and l.number = $2::int
