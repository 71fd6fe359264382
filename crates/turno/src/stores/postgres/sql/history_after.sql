-- name: history_after
select {grant}, ended_at, reason, cause, by_user, note
from turno.lease_history
where resource = $1::text and fence > $3::bigint
order by fence
limit $2::bigint
