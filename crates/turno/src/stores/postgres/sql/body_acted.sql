-- name: body_acted
-- Stores the action that was decided at the hand-out, for display. A newer change may have replaced the item's action
-- meanwhile, or may do so while this waits for the row. The newer action stays.
update turno.body b
set action = $3::text
where b.seq = $1::bigint and b.queue = $2::int
  and b.action is not distinct from $4::text and b.action is distinct from $3::text
