-- name: event_add
-- Adds events in the order of the decisions. The sequencer gives committed events their positions later.
insert into turno.event_in (topic, name, resource, at, fence, by_user, detail, to_users)
select u.topic, u.name, u.resource, u.at, u.fence, u.by_user, u.detail, u.to_users
from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[])
    as u (topic, name, resource, at, fence, by_user, detail, to_users)
