-- settings
-- For this transaction only, so that it holds behind a transaction pooler too. A generic plan made while a table
-- was empty would stay a sequential scan; these leave nested loops over indexes as the only plan.
-- A lock that is not had in time, or a client that stops in the middle, must not stall the others for long.
select set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true),
       set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true),
       set_config('jit', 'off', true),
       set_config('lock_timeout', '5s', true),
       set_config('idle_in_transaction_session_timeout', '15s', true)
