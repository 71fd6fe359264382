-- effect_begin
-- What an application's effect writes from here on can be undone while the rest of the transaction stays.
savepoint effect
