-- name: event_list
-- Positions become visible in order, so no event can appear later behind a position that was read. Events of items are
-- stored with numbers; people know an item by its queue and id.
select e.pos, e.topic, e.name, coalesce(i.known_as, e.resource), e.at, e.fence, e.by_user, e.detail, i.key, i.queue, e.to_users
from turno.event_log e
left join lateral (
    select q.name || '/' || b.id as known_as, b.key, q.name as queue
    from turno.body b
    join turno.queue q on q.id = b.queue
    where b.seq = case when e.name like 'item.%' then split_part(e.resource, '/', 2)::bigint end
) i on true
where e.pos > $1::bigint
order by e.pos
limit $2::bigint
