-- event_list
-- One writer at a time: numbers become visible in order.
-- What happened to an item was written with its numbers; people know it by its queue and id.
select e.n, e.topic, e.name, coalesce(iif(e.name like 'item.%', (
    select q.name || '/' || b.id
    from body b join queue q on q.id = b.queue
    where b.seq = cast(substr(e.resource, instr(e.resource, '/') + 1) as integer)
), null), e.resource), e.at, e.fence, e.by_user, e.detail
from event_in e where e.n > ?1 order by e.n limit ?2
