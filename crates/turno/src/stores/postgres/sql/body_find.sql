-- body_find
select seq, key, enqueued_at from turno.body where queue = $1::int and id = $2::text
