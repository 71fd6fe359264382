-- event_add
insert into event_in (topic, name, resource, at, fence, by_user, detail)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
