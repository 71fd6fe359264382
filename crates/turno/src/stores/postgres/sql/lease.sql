-- name: lease_insert
-- A missing row cannot be locked: without this, two callers could both be granted a resource never seen. The names come
-- sorted, the order in which all transactions lock them.
insert into turno.lease (resource)
select u.resource from unnest($1::text[]) as u (resource)
on conflict (resource) do nothing

-- name: lease_pin
-- Holds the ownership against takers (FOR UPDATE) but not against heartbeats (FOR NO KEY UPDATE) while a line is
-- applied. The columns are read later, behind the line's lock, because heartbeats may arrive during that wait.
select k.resource from turno.lease k where k.resource = $1::text for key share
