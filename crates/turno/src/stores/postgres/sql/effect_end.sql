-- name: effect_end
-- Fails if a statement of the effect has failed or has ended the transaction, because then the savepoint is gone.
-- Restores the settings for the store's own statements.
release savepoint turno_effect;
set local plan_cache_mode = force_generic_plan;
set local enable_seqscan = off;
set local enable_bitmapscan = off;
set local enable_hashjoin = off;
set local enable_mergejoin = off;
set local jit = off;
set local statement_timeout = default;
