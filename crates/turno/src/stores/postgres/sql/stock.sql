-- name: serial_add
insert into turno.stock_serial (sku, serial) select $1::text, u.serial from unnest($2::text[]) as u (serial)

-- name: serial_remove
delete from turno.stock_serial k using unnest($2::text[]) as u (serial) where k.sku = $1::text and k.serial = u.serial

-- name: stock_insert
-- An article that never moved has no row to lock. Returns whether the row was inserted now: if the line is refused, the
-- row is deleted again, so that only moved articles have stock.
insert into turno.stock (sku, quantity) values ($1::text, 0) on conflict (sku) do nothing returning true

-- name: stock_lock
-- Serialises lines of one article. The stock is read by the next statement, behind the lock.
select sku from turno.stock where sku = $1::text for update

-- name: stock_move_add
-- The primary key is the line: if two transactions ever apply the same line, the second fails as a whole.
insert into turno.stock_move (task, line, sku, delta, serials, fence, by_user, at)
values ($1::bigint, $2::int, $3::text, $4::bigint, $5::text, $6::bigint, $7::text, $8::bigint)

-- name: stock_read
select s.quantity, array(select k.serial from turno.stock_serial k where k.sku = s.sku order by k.serial)
from turno.stock s
where s.sku = $1::text

-- name: stock_remove
-- Deletes only a row that this transaction has inserted, and that no other transaction has seen.
delete from turno.stock where sku = $1::text and quantity = 0

-- name: stock_save
update turno.stock set quantity = quantity + $2::bigint where sku = $1::text
