-- name: destination_save
-- Of two processes that change the same version, the first wins. The other gets no row, and only the first adds the
-- event.
with saved as (
    insert into turno.destination as d (
        queue, version, failures, first, several, began_at, down_at, probe_at, error, revive_since, revive_until, stuck_at
    )
    values ($1::int, $2::bigint, $3::int, $4::bigint, $5::boolean, $6::bigint, $7::bigint, $8::bigint, $9::text, $10::bigint,
            $11::bigint, $12::bigint)
    on conflict (queue) do update
    set version = excluded.version, failures = excluded.failures, first = excluded.first, several = excluded.several,
        began_at = excluded.began_at, down_at = excluded.down_at, probe_at = excluded.probe_at, error = excluded.error,
        revive_since = excluded.revive_since, revive_until = excluded.revive_until, stuck_at = excluded.stuck_at
    where d.version = excluded.version - 1
    returning true
), announced as (
    insert into turno.event_in (topic, name, resource, at, detail)
    select $13::text, $14::text, $15::text, $16::bigint, $17::text
    from saved
    where $14::text is not null
)
select true from saved
