-- name: token_add
insert into turno.token
    (id, hash, user_id, name, machine, scope, resources, expires_at, created_at, created_by, parent, console,
     last_used_at, queues, reads)
values ($1::text, $2::bytea, $3::text, $4::text, $5::boolean, $6::text, $7::text, $8::bigint, $9::bigint, $10::text,
        $11::text, $12::boolean, $13::bigint, $14::text, $15::text)
