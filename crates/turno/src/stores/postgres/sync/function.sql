create or replace function {function}() returns trigger
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set row_security = off
as {body};
