create or replace function {function}() returns trigger
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set row_security = off
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
set extra_float_digits = 1
set bytea_output = 'hex'
as {body};
