-- name: effect_begin
-- The savepoint lets an effect's writes be undone while the rest of the transaction stays.
savepoint effect

-- name: effect_end
-- The effect's writes, if they were not undone, belong to the transaction now.
release effect

-- name: effect_undo
-- The effect refused its line, so none of its writes may stay.
rollback to effect
