-- Queues whose deliveries are sent to an endpoint, and how those destinations are doing.

-- JSON that only the server reads; nothing if workers claim the queue.
alter table queue add column push text;

-- One row per queue whose destination ever failed. No failures: it is well.
create table destination (
    queue integer not null primary key,
    version integer not null,
    failures integer not null,
    first integer not null,
    several integer not null,
    began_at integer not null,
    down_at integer,
    probe_at integer not null,
    error text not null,
    revive_since integer
) strict;
