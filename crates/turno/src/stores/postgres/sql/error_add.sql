-- name: error_add
insert into turno.attempt_error (seq, attempt, fence, at, error, retry_at, holder, handed_at, expired)
select u.seq, u.attempt, u.fence, u.at, u.error, u.retry_at, u.holder, u.handed_at, u.expired
from unnest($1::bigint[], $2::int2[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::text[],
    $8::bigint[], $9::boolean[])
    as u (seq, attempt, fence, at, error, retry_at, holder, handed_at, expired)
