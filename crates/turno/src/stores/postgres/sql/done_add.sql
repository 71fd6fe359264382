-- name: done_add
insert into turno.done (seq, queue, ended, at, attempt, fence, revision, holder, handed_at)
select u.seq, u.queue, u.ended, u.at, u.attempt, u.fence, u.revision, u.holder, u.handed_at
from unnest($1::bigint[], $2::int[], $3::int2[], $4::bigint[], $5::int2[], $6::bigint[], $7::bigint[], $8::text[],
            $9::bigint[])
    as u (seq, queue, ended, at, attempt, fence, revision, holder, handed_at)
