-- effect_undo
-- The effect refused its line, so none of its writes may stay.
rollback to effect
