-- name: history_read
select {grant}, ended_at, reason, cause, by_user, note
from turno.lease_history
where resource = $1::text and fence = $2::bigint
