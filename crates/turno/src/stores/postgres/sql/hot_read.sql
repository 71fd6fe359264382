-- name: hot_read
select {h.hot}
from turno.hot h
where h.seq = $1::bigint
for update
