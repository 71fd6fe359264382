-- body_acted
-- What was decided at the hand-out is kept with the item, for people who look at it later.
update turno.body b
set action = $3::text
where b.seq = $1::bigint and b.queue = $2::int and b.action is distinct from $3::text
