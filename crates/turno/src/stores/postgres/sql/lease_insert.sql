-- lease_insert
-- A missing row cannot be locked: without this, two callers could both be granted a resource never seen. The names come
-- sorted, the order in which all transactions lock them.
insert into turno.lease (resource)
select u.resource from unnest($1::text[]) as u (resource)
on conflict (resource) do nothing
