-- name: done_add
insert into done ({done})
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)

-- name: done_read
select {done}
from done
where seq = ?1

-- name: done_remove
-- A finished item is re-queued.
delete from done where seq = ?1
