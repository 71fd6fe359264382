-- name: check_stock
-- K3: Stock is the sum of its moves, both in units and in serial numbers.
select json_object('article', x.sku, 'problem', 'stock_differs', 'quantity', x.quantity, 'moved', x.moved,
           'serials', x.serials, 'named', x.named)
from (
    select s.sku, s.quantity,
           coalesce((select sum(m.delta) from stock_move m where m.sku = s.sku), 0) as moved,
           (select count(*) from stock_serial n where n.sku = s.sku) as serials,
           coalesce((select sum(case when m.delta < 0 then -json_array_length(m.serials) else json_array_length(m.serials) end)
                     from stock_move m where m.sku = s.sku), 0) as named
    from stock s
) x
where x.quantity <> x.moved or x.serials <> x.named
order by x.sku
limit ?1
