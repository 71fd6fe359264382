-- queue_purged
update turno.queue set purged = purged + $2::bigint where id = $1::int returning name
