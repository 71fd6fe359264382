-- name: effect_begin
-- The savepoint lets an effect's writes be undone alone. The effect's statements are planned with the default settings.
-- The timeout ends a statement that still runs after the effect was given up, so that it does not keep its locks.
savepoint turno_effect;
set local plan_cache_mode = default;
set local enable_seqscan = default;
set local enable_bitmapscan = default;
set local enable_hashjoin = default;
set local enable_mergejoin = default;
set local jit = default;
set local statement_timeout = '10s';
