-- name: destination_read
select queue, version, failures, first, several, began_at, down_at, probe_at, error, revive_since,
    revive_until, stuck_at
from destination
where queue = ?1
