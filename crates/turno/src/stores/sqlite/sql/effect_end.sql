-- effect_end
-- What the effect wrote, if it was not undone, belongs to the transaction now.
release effect
