-- name: sync_begin
-- For reading an application's table. Names resolve only in the catalogue, whatever other schemas contain. Values have
-- the same text in every session. A row hidden by row security is an error and not a missing row. The timeouts keep the
-- read from blocking others for long.
begin isolation level read committed read only;
set local search_path = pg_catalog, pg_temp;
set local row_security = off;
set local timezone = 'UTC';
set local datestyle = 'ISO, YMD';
set local intervalstyle = 'postgres';
set local extra_float_digits = 1;
set local bytea_output = 'hex';
set local lock_timeout = '5s';
set local statement_timeout = '60s';
set local idle_in_transaction_session_timeout = '15s';
