-- name: sync_marked
-- Views whose comment begins with a mark ($1), and indexes that also have the name ($6), because a table created LIKE
-- another copies its indexes' comments. Also any relation with one of two names ($2.$3, $4.$5).
select n.nspname::text, c.relname::text, c.relkind::text, obj_description(c.oid, 'pg_class'),
       coalesce((select i.indisvalid and i.indisunique from pg_index i where i.indexrelid = c.oid), true)
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where n.nspname = $2::text and c.relname = $3::text
    or n.nspname = $4::text and c.relname = $5::text
    or (c.relkind = 'v' or c.relname = $6::text) and c.oid in (
        select d.objoid from pg_description d
        where d.classoid = 'pg_class'::regclass and d.objsubid = 0 and left(d.description, length($1::text)) = $1::text
    )
order by 1, 2
