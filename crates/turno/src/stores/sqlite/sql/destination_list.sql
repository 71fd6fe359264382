-- destination_list
-- Those that something is to be remembered about; there are few rows, one per queue at most.
select queue, version, failures, first, several, began_at, down_at, probe_at, error, revive_since,
    revive_until, stuck_at
from destination
where failures > 0 or revive_since is not null
