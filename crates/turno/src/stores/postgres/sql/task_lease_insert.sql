-- task_lease_insert
-- A missing row cannot be locked. Inserts only for an existing task, so that guessing task numbers creates no rows.
insert into turno.lease (resource)
select $1::text where exists (select from turno.task where id = $2::bigint)
on conflict (resource) do nothing
