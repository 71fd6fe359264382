-- name: history_list
select {grant}, ended_at, reason, cause, by_user, note
from turno.lease_history
where resource = $1::text and fence < $3::bigint
order by fence desc
limit $2::bigint
