-- name: error_list
-- In the order of writing, because attempt numbers start again after a retry by a person.
select seq, attempt, fence, at, error, retry_at, holder, handed_at, expired
from attempt_error
where seq = ?1
order by rowid
