-- schema_exists
-- By a plain query and not by to_regclass: that would use what the session knew before it waited for the lock.
select exists (
    select from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'turno' and c.relname = 'schema_version'
)
