-- name: sync_function
-- The function without arguments in the engine's schema, with everything that identifies it.
select p.prosrc, p.prosecdef, coalesce(array_to_string(p.proconfig, '; '), ''), pg_get_userbyid(p.proowner)::text,
       obj_description(p.oid, 'pg_proc'),
       has_function_privilege('public', p.oid, 'execute')
from pg_proc p
join pg_namespace n on n.oid = p.pronamespace
where n.nspname = 'turno' and p.proname = $1::text and p.pronargs = 0
