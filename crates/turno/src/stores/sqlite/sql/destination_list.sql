-- name: destination_list
-- Destinations with failures, or with items to revive. The table has at most one row per queue, so no index is needed.
select queue, version, failures, first, several, began_at, down_at, probe_at, error, revive_since,
    revive_until, stuck_at
from destination
where failures > 0 or revive_since is not null
