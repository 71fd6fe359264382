-- name: check_secrets
-- R2: A token is stored only as the hash of its secret.
select 'token ' || k.id, 'what is kept is not a hash'
from turno.token k
where octet_length(k.hash) <> 32
order by k.id
limit $1::bigint
