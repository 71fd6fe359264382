-- event_list
-- One writer at a time: numbers become visible in order.
select n, topic, name, resource, at, fence, by_user, detail from event_in where n > ?1 order by n limit ?2
