-- name: item_purge
-- Deletes finished items with all their rows. A re-queueing transaction locks the row in `done` (done_read), so such
-- an item is skipped. Exhausted items stay until a person decides. Goes by seq and not by time, because that is the
-- existing index, and old items come first in it.
with old as (
    select d.seq
    from turno.done d
    where d.queue = $1::int and d.at < $2::bigint and d.ended <> 1
    order by d.seq
    limit $3::bigint
    for update skip locked
), bodies as (
    delete from turno.body b using old where b.seq = old.seq
), errors as (
    delete from turno.attempt_error e using old where e.seq = old.seq
), back as (
    delete from turno.came_back c using old where c.seq = old.seq
), gone as (
    delete from turno.done d using old where d.seq = old.seq returning d.seq
)
select count(*) from gone
