-- effect_begin
-- What an application's effect writes can be undone alone. Its statements are planned as everywhere else, and one that
-- is still running when nobody waits for it any more must not keep its locks.
savepoint turno_effect;
set local plan_cache_mode = default;
set local enable_seqscan = default;
set local enable_bitmapscan = default;
set local enable_hashjoin = default;
set local enable_mergejoin = default;
set local jit = default;
set local statement_timeout = '10s';
