-- lease_insert
-- A row that is not there cannot be locked: without this, two callers are both granted a resource never seen.
-- The names come sorted, which is the one order in which everybody locks.
insert into turno.lease (resource)
select u.resource from unnest($1::text[]) as u (resource)
on conflict (resource) do nothing
