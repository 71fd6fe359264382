-- error_of_fence
select at, error
from attempt_error
where seq = ?1 and fence = ?2
order by rowid desc
limit 1
