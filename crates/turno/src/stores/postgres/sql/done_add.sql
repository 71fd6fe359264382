-- name: done_add
insert into turno.done ({done})
select {u.done}
from unnest($1::bigint[], $2::int[], $3::int2[], $4::bigint[], $5::int2[], $6::bigint[], $7::bigint[], $8::text[],
            $9::bigint[])
    as u ({done})
