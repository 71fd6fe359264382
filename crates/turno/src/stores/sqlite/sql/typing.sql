-- name: typing_read
select at from typing where queue = ?1 and lane = ?2

-- name: typing_remove
delete from typing where queue = ?1 and lane = ?2

-- name: typing_save
insert into typing (queue, lane, at) values (?1, ?2, ?3)
on conflict (queue, lane) do update set at = excluded.at
