-- purge_count
-- Counts what purge_items would delete.
select count(*) from turno.done d where d.queue = $1::int and d.at < $2::bigint and d.ended <> 1
