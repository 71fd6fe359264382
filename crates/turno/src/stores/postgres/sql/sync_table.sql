-- name: sync_table
-- A table ($1, $2) as described by the catalogue, always one row: the owner of the engine's schema; the table's kind,
-- if it exists; its owner; the columns ($4) that it lacks; the base type of its key ($3) below all domains; whether the
-- schema's owner may read it; whether row security would hide rows; the key's declared type; all columns, and whether
-- their types are plain (core: sync/condition.rs); and the number of the source's queue ($5).
with recursive found as (
    select c.oid, c.relkind, c.relowner, c.relrowsecurity, c.relforcerowsecurity
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = $1::text and c.relname = $2::text
), base as (
    select t.oid, t.typtype, t.typbasetype, t.typname, t.typnamespace
    from found f
    join pg_attribute a on a.attrelid = f.oid and a.attname = $3::text and a.attnum > 0 and not a.attisdropped
    join pg_type t on t.oid = a.atttypid
    union all
    select t.oid, t.typtype, t.typbasetype, t.typname, t.typnamespace
    from base b
    join pg_type t on t.oid = b.typbasetype
    where b.typtype = 'd'
), columns as (
    select a.attname::text as name, a.attnum as place,
           a.attcollation = t.typcollation and (t.typtype = 'e' or t.typnamespace = 'pg_catalog'::regnamespace and t.typname in
               ('bool', 'int2', 'int4', 'int8', 'numeric', 'text', 'varchar', 'bpchar', 'uuid')) as plain
    from found f
    join pg_attribute a on a.attrelid = f.oid and a.attnum > 0 and not a.attisdropped
    join pg_type t on t.oid = a.atttypid
), engine as (
    select n.nspowner as owner, r.rolsuper or r.rolbypassrls as sees_all
    from pg_namespace n
    join pg_roles r on r.oid = n.nspowner
    where n.nspname = 'turno'
)
select pg_get_userbyid(e.owner)::text,
       f.relkind::text,
       pg_get_userbyid(f.relowner)::text,
       array(
           select u.name
           from unnest($4::text[]) with ordinality as u (name, place)
           where not exists (
               select from pg_attribute a
               where a.attrelid = f.oid and a.attname = u.name and a.attnum > 0 and not a.attisdropped
           )
           order by u.place
       ),
       (select case when b.typnamespace = 'pg_catalog'::regnamespace or b.typtype = 'e' then b.typname::text
                    else b.typnamespace::regnamespace::text || '.' || b.typname end
        from base b where b.typtype <> 'd'),
       coalesce((select b.typtype = 'e' from base b where b.typtype <> 'd'), false),
       coalesce(has_schema_privilege(e.owner, (select c.relnamespace from pg_class c where c.oid = f.oid), 'usage')
                and has_table_privilege(e.owner, f.oid, 'select'), false),
       coalesce(f.relrowsecurity and not e.sees_all and (f.relowner <> e.owner or f.relforcerowsecurity), false),
       (select format_type(a.atttypid, a.atttypmod)
        from pg_attribute a
        where a.attrelid = f.oid and a.attname = $3::text and a.attnum > 0 and not a.attisdropped),
       array(select c.name from columns c order by c.place),
       array(select c.plain from columns c order by c.place),
       (select q.id from turno.queue q where q.name = $5::text)
from engine e
left join found f on true
