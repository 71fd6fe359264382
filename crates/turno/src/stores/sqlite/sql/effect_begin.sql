-- effect_begin
-- The savepoint lets an effect's writes be undone while the rest of the transaction stays.
savepoint effect
