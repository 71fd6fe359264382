-- purge_named
-- As purge_items, of these items. It waits for whoever sends one of them round again: that one is not finished then, keeps
-- its body, and the item that was to have its id is refused by the index and decided anew.
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
