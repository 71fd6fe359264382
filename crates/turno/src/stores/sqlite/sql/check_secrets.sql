-- check_secrets
-- R2: Of a token only the hash of its secret is kept.
select 'token ' || k.id, 'what is kept is not a hash'
from token k
where length(k.hash) <> 32
order by k.id
limit ?1
