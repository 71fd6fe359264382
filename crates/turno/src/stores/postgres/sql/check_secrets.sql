-- name: check_secrets
-- R2: A token is stored only as the hash of its secret.
select json_build_object('token', k.id, 'problem', 'not_a_hash')::text
from turno.token k
where octet_length(k.hash) <> 32
order by k.id
limit $1::bigint
