-- name: event_list
-- SQLite has one writer at a time, so numbers become visible in order. Events of items are stored with numbers; people
-- know an item by its queue and id.
select e.n, e.topic, e.name, coalesce(q.name || '/' || b.id, e.resource), e.at, e.fence, e.by_user, e.detail, b.key, q.name, e.to_users
from event_in e
left join body b
    on b.seq = iif(e.name like 'item.%', cast(substr(e.resource, instr(e.resource, '/') + 1) as integer), null)
left join queue q on q.id = b.queue
where e.n > ?1 order by e.n limit ?2
