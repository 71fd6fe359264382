-- name: error_of_fence
select error, retry_at, expired, holder
from attempt_error
where seq = ?1 and fence = ?2
order by rowid desc
limit 1
