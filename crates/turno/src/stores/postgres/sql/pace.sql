-- name: pace_insert
-- Missing rows are inserted first, so that they can be locked. In order of the keys, as all locks of this table.
insert into turno.sign_in_pace (key, paid_until)
select key, 0 from unnest($1::bytea[]) key order by key
on conflict (key) do nothing

-- name: pace_read
-- Locks the rows, so that parallel attempts on any instance count one after another.
select key, paid_until from turno.sign_in_pace where key = any($1::bytea[]) order by key for update
