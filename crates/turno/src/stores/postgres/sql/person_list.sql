-- name: person_list
select id, name, role, disabled, password, created_at, issuer, subject
from turno.person
where id > $1::text
order by id
limit $2::bigint
