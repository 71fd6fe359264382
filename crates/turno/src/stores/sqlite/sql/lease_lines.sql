-- name: lease_lines
-- Scans the primary key, also over leases without a waiting line. Rarely used: only when a user is disabled.
select {grant}, waiting, {ended}, look_at, resource
from lease
where resource > ?1 and waiting is not null
order by resource
limit ?2
