-- name: lease_read
-- Every heartbeat runs this: one search by primary key. The columns of a grant have the same order in every statement,
-- so that one function reads them all.
select {grant}, waiting, {ended}, look_at
from lease
where resource = ?1
