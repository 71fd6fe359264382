-- The engine's tables: the same names and columns as in PostgreSQL, so that one sentence explains both.
--
-- Times and spans are integers of milliseconds, booleans 0 or 1, payloads opaque text. Tables are strict:
-- a text in a time column is a bug that should fail here and not a year later.

-- One row: which schema this is, and the oldest program that may use it.
create table schema_version (
    version integer not null,
    min_compatible integer not null
) strict;

-- One row: the one sequence behind fences, places and revisions. Taken inside the write transaction.
create table number (value integer not null) strict;
insert into number (value) values (0);

-- One row: the highest time that decided anything, for a process that starts after the clock was set back.
create table mark (high integer not null) strict;
insert into mark (high) values (0);

create table queue (
    id integer primary key,
    name text not null unique,
    policy text not null,
    kind text not null,
    version integer not null,
    paused integer not null
) strict;

-- One row per resource that was ever seen. Without rowid: a heartbeat reads by name, in one search, not two.
create table lease (
    resource text not null primary key,
    holder_user text,
    holder_name text,
    holder_instance text,
    fence integer,
    claim integer,
    ttl_ms integer,
    locked_at integer,
    worked_at integer,
    heartbeat_at integer,
    expires_at integer,
    idle integer,
    -- JSON of the line, the offer and the requests; null while there is none of them, which is nearly always.
    waiting text,
    -- The ownership before, so that the late one can be told without a look into the history.
    ended_user text,
    ended_name text,
    ended_instance text,
    ended_fence integer,
    ended_claim integer,
    ended_ttl_ms integer,
    ended_locked_at integer,
    ended_worked_at integer,
    ended_heartbeat_at integer,
    ended_expires_at integer,
    ended_idle integer,
    ended_at integer,
    ended_reason text,
    ended_cause text,
    ended_by text,
    ended_note text
) strict, without rowid;

create table lease_history (
    resource text not null,
    fence integer not null,
    holder_user text not null,
    holder_name text not null,
    holder_instance text,
    claim integer not null,
    ttl_ms integer not null,
    locked_at integer not null,
    worked_at integer not null,
    heartbeat_at integer not null,
    expires_at integer not null,
    idle integer not null,
    at integer not null,
    reason text not null,
    cause text not null,
    by_user text,
    note text,
    primary key (resource, fence)
) strict, without rowid;

-- Events in the order of their commits: one writer, so the number is a position.
create table event_in (
    n integer primary key autoincrement,
    topic text not null,
    name text not null,
    resource text not null,
    at integer not null,
    fence integer,
    by_user text,
    detail text
) strict;

-- What an item carries: written once and never moved. The unique index serves dedupe and lookup by id.
create table body (
    seq integer primary key,
    queue integer not null,
    id text not null,
    key text,
    action text,
    payload text not null,
    enqueued_at integer not null,
    unique (queue, id)
) strict;

-- Unfinished items only, thin, because they are rewritten. `last`: 0 none, 1 failed, 2 returned, 3 expired,
-- 4 superseded. `grp` is the fence of the first hand-out of its group.
create table hot (
    seq integer primary key,
    queue integer not null,
    lane integer,
    enqueued_at integer not null,
    not_before integer not null,
    ready_at integer,
    expires_at integer,
    claimed_at integer,
    attempt integer not null,
    fence integer not null,
    grp integer not null,
    last integer not null,
    revision integer not null,
    handed integer not null,
    parked integer not null,
    holder text
) strict;

-- Only heads that may run: what a claim looks through, in the order in which it hands out.
create index hot_ready on hot (queue, ready_at, seq) where ready_at is not null;
-- Only what is handed out: for the sweeper.
create index hot_expiry on hot (expires_at) where expires_at is not null;
-- A lane in order: for its front and for the successor of what is settled.
create index hot_lane on hot (queue, lane, seq) where lane is not null;

-- Finished items. `ended`: 0 processed, 1 exhausted, 2 cancelled.
create table done (
    seq integer primary key,
    queue integer not null,
    ended integer not null,
    at integer not null,
    attempt integer not null,
    fence integer not null,
    revision integer not null,
    holder text
) strict;

-- For the retention, which goes by age; with `ended` in it, counting never touches the table.
create index done_age on done (queue, at, ended);

create table attempt_error (
    seq integer not null,
    attempt integer not null,
    fence integer not null,
    at integer not null,
    error text not null,
    retry_at integer,
    holder text
) strict;
create index attempt_error_item on attempt_error (seq);

create table typing (
    queue integer not null,
    lane integer not null,
    at integer not null,
    primary key (queue, lane)
) strict, without rowid;
