-- name: lease_list
-- Scans a range of names in the primary key; a page starts right behind the last name of the previous one. A blob is
-- greater than every text, so without an upper bound the range ends with the table.
select {grant}, waiting, {ended}, look_at, resource
from lease
where resource >= ?1 and resource < coalesce(?2, x'') and fence is not null and (?3 is null or holder_user = ?3)
order by resource
limit ?4
