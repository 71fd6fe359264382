-- Finds schemas that the demo would create or change.
select n.nspname::text from pg_catalog.pg_namespace n where n.nspname in ('turno', 'siper') order by 1
