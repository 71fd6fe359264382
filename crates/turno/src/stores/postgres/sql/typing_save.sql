-- name: typing_save
-- The caller sorts the rows, so that two of these statements cannot deadlock.
insert into turno.typing (queue, lane, at)
select u.queue, u.lane, u.at
from unnest($1::int[], $2::bigint[], $3::bigint[]) as u (queue, lane, at)
on conflict (queue, lane) do update set at = excluded.at
