-- name: pace_save
-- An attempt may have removed a row between the insert and the lock, because the row had no effect.
insert into turno.sign_in_pace (key, paid_until)
select key, paid_until from unnest($1::bytea[], $2::bigint[]) saved (key, paid_until) order by key
on conflict (key) do update set paid_until = excluded.paid_until
