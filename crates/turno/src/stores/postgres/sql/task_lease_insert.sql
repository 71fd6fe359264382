-- task_lease_insert
-- A row that is not there cannot be locked. But whoever tries numbers of tasks leaves no rows behind.
insert into turno.lease (resource)
select $1::text where exists (select from turno.task where id = $2::bigint)
on conflict (resource) do nothing
