-- name: came_back_add
-- Keeps only the newest hand-outs of an item: $8 of the existing ones, because this statement does not see the new one.
with added as (
    insert into turno.came_back (seq, fence, how, at, holder, handed_at, error)
    select u.seq, u.fence, u.how, u.at, u.holder, u.handed_at, u.error
    from unnest($1::bigint[], $2::bigint[], $3::int2[], $4::bigint[], $5::text[], $6::bigint[], $7::text[])
        as u (seq, fence, how, at, holder, handed_at, error)
)
delete from turno.came_back c
using unnest($1::bigint[]) as u (seq)
where c.seq = u.seq
  and c.fence <= (
      select o.fence from turno.came_back o where o.seq = u.seq order by o.fence desc offset $8::bigint limit 1
  )
