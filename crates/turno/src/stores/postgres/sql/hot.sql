-- name: hot_next_look
select ready_at from turno.hot where queue = $1::int and ready_at > $2::bigint order by ready_at limit 1

-- name: hot_remove
delete from turno.hot h
using unnest($1::bigint[]) as u (seq)
where h.seq = u.seq

-- name: hot_request_lock
-- Makes repeats of one claim run one after another, in all processes. Two request ids with the same hash only wait.
select pg_advisory_xact_lock(1953854066, hashtext($1::text))
