-- name: destination_save
-- Of two processes that change the same version, the first wins. The other changes no row.
insert into destination (
    queue, version, failures, first, several, began_at, down_at, probe_at, error, revive_since, revive_until, stuck_at
)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
on conflict (queue) do update
set version = excluded.version, failures = excluded.failures, first = excluded.first, several = excluded.several,
    began_at = excluded.began_at, down_at = excluded.down_at, probe_at = excluded.probe_at, error = excluded.error,
    revive_since = excluded.revive_since, revive_until = excluded.revive_until, stuck_at = excluded.stuck_at
where destination.version = excluded.version - 1
