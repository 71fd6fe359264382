-- name: body_known
-- Lateral, so that no plan made on an empty table can read a whole queue instead of one entry. An id that no item has
-- may belong to a change that an item absorbed. An exhausted item (ended 1) is never outlived, because a person
-- decides.
select u.queue, u.id, b.seq, b.key, b.accepted, d.at, a.digest, a.at
from unnest($1::int[], $2::text[]) as u (queue, id)
left join lateral (
    select k.seq, k.key, coalesce(k.accepted, k.payload) as accepted
    from turno.body k where k.queue = u.queue and k.id = u.id limit 1
) b on true
left join lateral (
    select f.at from turno.done f where f.seq = b.seq and f.ended <> 1 limit 1
) d on true
left join lateral (
    select t.digest, t.at from turno.absorbed t where b.seq is null and t.queue = u.queue and t.id = u.id limit 1
) a on true
where b.seq is not null or a.at is not null
