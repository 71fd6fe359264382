-- effect_end
-- The effect's writes, if they were not undone, belong to the transaction now.
release effect
