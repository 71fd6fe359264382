-- name: schema_exists
-- A plain query, because to_regclass would use what the session cached before it waited for the lock.
select exists (
    select from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'turno' and c.relname = 'schema_version'
)
