-- name: item_purge_count
-- Counts what item_purge would delete.
select count(*) from turno.done d where d.queue = $1::int and d.at < $2::bigint and d.ended <> 1
