-- effect_undo
-- The effect refused its line: nothing that it wrote may stay.
rollback to effect
