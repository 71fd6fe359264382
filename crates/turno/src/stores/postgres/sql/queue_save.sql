-- queue_save
update turno.queue
set policy = $2::text, kind = $3::text, push = $4::text, version = version + 1
where id = $1::int
