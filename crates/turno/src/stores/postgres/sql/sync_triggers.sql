-- name: sync_triggers
-- Triggers that call a function of the engine's schema ($1), on any table, and triggers with one of the names ($4) on a
-- table ($2, $3). Triggers of partitions are left out, because they follow their parent's.
select n.nspname::text, c.relname::text, t.tgname::text,
       t.tgfoid = coalesce(f.oid, 0), t.tgtype::int, t.tgenabled::text, t.tgqual is null and t.tgattr::text = ''
from pg_trigger t
join pg_class c on c.oid = t.tgrelid
join pg_namespace n on n.oid = c.relnamespace
left join (
    select p.oid from pg_proc p join pg_namespace e on e.oid = p.pronamespace
    where e.nspname = 'turno' and p.proname = $1::text and p.pronargs = 0
) f on true
where not t.tgisinternal and t.tgparentid = 0
    and (t.tgfoid = f.oid or n.nspname = $2::text and c.relname = $3::text and t.tgname = any ($4::text[]))
order by 1, 2, 3
