-- purge_items
-- Finished items with all that belongs to them. Whoever sends one round again holds its last line (manage_done): that
-- one is skipped. What is exhausted stays until a person decides. By place, not by time, since that is the index there is; old ones stand first.
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
