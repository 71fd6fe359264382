-- body_acted
-- What was decided at the hand-out is kept with the item, for people who look at it later. A newer change may have replaced
-- what the item said meanwhile, or do so while this waits for the row: that stays.
update turno.body b
set action = $3::text
where b.seq = $1::bigint and b.queue = $2::int
  and b.action is not distinct from $4::text and b.action is distinct from $3::text
