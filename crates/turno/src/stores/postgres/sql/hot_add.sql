-- name: hot_add
-- The other columns of a new item have their defaults; hot_save writes the rest if an item needs it.
insert into turno.hot (seq, queue, lane, enqueued_at, not_before, ready_at, revision)
select u.seq, u.queue, u.lane, u.enqueued_at, u.not_before, u.ready_at, u.revision
from unnest($1::bigint[], $2::int[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
    as u (seq, queue, lane, enqueued_at, not_before, ready_at, revision)
