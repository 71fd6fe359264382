-- name: begin
-- One simple query, because that is the cheapest way to send all of it. All settings are local to the transaction, so
-- that they also hold behind a transaction pooler. The isolation level is explicit, because a server may have another
-- default: every later statement must see what the locks waited for. A generic plan that was made while a table was
-- empty would stay a sequential scan, so the settings leave only nested loops over indexes. The timeouts keep a missing
-- lock or a stopped client from blocking other transactions for long.
begin isolation level read committed read write;
set local plan_cache_mode = force_generic_plan;
set local enable_seqscan = off;
set local enable_bitmapscan = off;
set local enable_hashjoin = off;
set local enable_mergejoin = off;
set local jit = off;
set local lock_timeout = '5s';
set local idle_in_transaction_session_timeout = '15s';
