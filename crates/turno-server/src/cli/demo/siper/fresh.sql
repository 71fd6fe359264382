-- What would be in the way of a demo, or be harmed by it.
select n.nspname::text from pg_catalog.pg_namespace n where n.nspname in ('turno', 'siper') order by 1
