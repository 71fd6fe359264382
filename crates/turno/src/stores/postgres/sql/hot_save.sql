-- name: hot_save
update turno.hot h
set not_before = u.not_before, ready_at = u.ready_at, expires_at = u.expires_at, claimed_at = u.claimed_at,
    attempt = u.attempt, fence = u.fence, grp = u.grp, last = u.last, revision = u.revision, handed = u.handed,
    parked = u.parked, holder = u.holder, size = u.size
from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::int2[], $7::bigint[], $8::bigint[],
            $9::int2[], $10::bigint[], $11::bigint[], $12::boolean[], $13::text[], $14::int2[])
    as u (seq, not_before, ready_at, expires_at, claimed_at, attempt, fence, grp, last, revision, handed, parked, holder, size)
where h.seq = u.seq
