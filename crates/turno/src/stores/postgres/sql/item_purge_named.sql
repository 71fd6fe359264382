-- name: item_purge_named
-- Like item_purge, for given items. Waits for a transaction that re-queues one of them. That item is then not finished
-- and keeps its body, so the unique index refuses the new item with its id, and the group is decided again.
with gone as (
    delete from turno.done d
    using unnest($3::bigint[]) as u (seq)
    where d.seq = u.seq and d.queue = $1::int and d.at < $2::bigint and d.ended <> 1
    returning d.seq
), bodies as (
    delete from turno.body b using gone where b.seq = gone.seq
), errors as (
    delete from turno.attempt_error e using gone where e.seq = gone.seq
), back as (
    delete from turno.came_back c using gone where c.seq = gone.seq
)
select count(*) from gone
