-- name: token_list
select id, hash, user_id, name, machine, scope, resources, expires_at, created_at, created_by, parent, console,
       last_used_at, queues, reads
from turno.token
where id > $1::text and ($2::text is null or user_id = $2::text)
order by id
limit $3::bigint
