-- begin
-- One simple query, the cheapest way to say all of it. For this transaction only, so that it holds behind a
-- transaction pooler too. The isolation is said, because a server may have another default: every later statement must
-- see what the locks waited for. A generic plan made while a table was empty would stay a sequential scan; these
-- settings leave nested loops over indexes as the only plan. A lock that is not had in time, or a client that stops
-- in the middle, must not stall the others for long.
begin isolation level read committed read write;
set local plan_cache_mode = force_generic_plan;
set local enable_seqscan = off;
set local enable_bitmapscan = off;
set local enable_hashjoin = off;
set local enable_mergejoin = off;
set local jit = off;
set local lock_timeout = '5s';
set local idle_in_transaction_session_timeout = '15s';
