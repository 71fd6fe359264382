-- body_add
insert into body (seq, queue, id, key, action, payload, enqueued_at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
