-- name: note_add
insert into turno.task_note (task, at, actor, via, what, line, detail)
select $1::bigint, u.at, u.actor, u.via, u.what, u.line, u.detail
from unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::int[], $7::text[])
    as u (at, actor, via, what, line, detail)
