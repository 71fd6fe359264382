-- typing_set
-- Sorted by the caller, so that two of these never wait for each other crosswise.
insert into turno.typing (queue, lane, at)
select u.queue, u.lane, u.at
from unnest($1::int[], $2::bigint[], $3::bigint[]) as u (queue, lane, at)
on conflict (queue, lane) do update set at = excluded.at
