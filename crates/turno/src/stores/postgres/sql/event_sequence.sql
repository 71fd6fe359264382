-- name: event_sequence
-- Gives committed events the next positions, in the order of their numbers. An event that commits later gets a later
-- position, whatever its number. Chooses nothing if the lock was not granted. Uses an array, so that the primary key is
-- the only way to the rows. Rows up to $1 were moved before, and stay in the index while an old snapshot exists.
with moved as (
    delete from turno.event_in e
    where e.n = any (array(
        select i.n from turno.event_in i
        where i.n > $1::bigint
        order by i.n
        limit (case when current_setting('turno.sequencing', true) = 'true' then $2::bigint else 0 end)
    ))
    returning e.n, e.topic, e.name, e.resource, e.at, e.fence, e.by_user, e.detail, e.to_users
), placed as (
    insert into turno.event_log (pos, topic, name, resource, at, fence, by_user, detail, to_users)
    select greatest(p.pos, (select max(l.pos) from turno.event_log l)) + row_number() over (order by m.n),
           m.topic, m.name, m.resource, m.at, m.fence, m.by_user, m.detail, m.to_users
    from moved m cross join turno.event_purged p
)
select count(*), coalesce(max(m.n), 0) from moved m
