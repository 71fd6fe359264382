-- Leases and queues. Times are milliseconds since 1970 in both stores, so that both compare and round alike.
-- Names are compared byte by byte (COLLATE "C"), as Rust does: the order of locks must not depend on a locale.

create schema turno;

-- One row per migration. An instance of version n may work as long as min_compatible of the newest is <= n.
create table turno.schema_version (
    version int primary key,
    min_compatible int not null
);

-- The one sequence for fences, places and revisions. CACHE 1: cached blocks would hand out numbers that go back.
create sequence turno.number as bigint cache 1;

-- Grows whenever a finished item goes back to its old place in a lane: what a process remembers about
-- fronts of lanes is then void. A sequence, because it is read under a lane's mutex and leaves no row versions.
create sequence turno.rebirth as bigint cache 1;

create table turno.mark (
    high bigint not null
);
insert into turno.mark (high) values (0);

create table turno.queue (
    id int generated always as identity primary key,
    name text collate "C" not null unique,
    policy text not null,
    kind text not null,
    version bigint not null,
    paused boolean not null
);

-- No index on any time and half of each page left free: a renewal then stays within its page.
create table turno.lease (
    resource text collate "C" primary key,
    holder_user text collate "C",
    holder_name text,
    holder_instance text collate "C",
    fence bigint,
    claim bigint,
    ttl_ms bigint,
    locked_at bigint,
    worked_at bigint,
    heartbeat_at bigint,
    expires_at bigint,
    idle boolean,
    waiting text,
    ended text
) with (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);

create table turno.lease_history (
    resource text collate "C" not null,
    fence bigint not null,
    holder_user text collate "C" not null,
    holder_name text not null,
    holder_instance text collate "C",
    claim bigint not null,
    ttl_ms bigint not null,
    locked_at bigint not null,
    worked_at bigint not null,
    heartbeat_at bigint not null,
    expires_at bigint not null,
    idle boolean not null,
    ended_at bigint not null,
    reason text not null,
    cause text not null,
    by_user text collate "C",
    note text,
    primary key (resource, fence)
);

create table turno.event_in (
    n bigint generated always as identity primary key,
    topic text not null,
    name text not null,
    resource text collate "C" not null,
    at bigint not null,
    fence bigint,
    by_user text collate "C",
    detail text
);

-- Written once with the item, never moved. The unique index finds duplicates and looks items up.
create table turno.body (
    seq bigint primary key,
    queue int not null,
    id text collate "C" not null,
    key text collate "C",
    action text,
    payload text not null,
    enqueued_at bigint not null,
    unique (queue, id)
) with (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);

-- Only unfinished items, thin. Of a lane only the head has a ready_at.
create table turno.hot (
    seq bigint primary key,
    queue int not null,
    lane bigint,
    enqueued_at bigint not null,
    not_before bigint not null,
    ready_at bigint,
    expires_at bigint,
    claimed_at bigint,
    attempt int2 not null default 0,
    fence bigint not null default 0,
    grp bigint not null default 0,
    last int2 not null default 0,
    revision bigint not null,
    handed bigint not null default 0,
    parked boolean not null default false,
    holder text
) with (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
create index hot_ready on turno.hot (queue, ready_at, seq) where ready_at is not null;
create index hot_expiry on turno.hot (expires_at) where expires_at is not null;
create index hot_lane on turno.hot (queue, lane, seq) where lane is not null;

create table turno.done (
    seq bigint primary key,
    queue int not null,
    ended int2 not null,
    at bigint not null,
    attempt int2 not null,
    fence bigint not null,
    revision bigint not null,
    holder text
);

create table turno.attempt_error (
    seq bigint not null,
    attempt int2 not null,
    fence bigint not null,
    at bigint not null,
    error text not null,
    retry_at bigint,
    holder text
);
create index attempt_error_seq on turno.attempt_error (seq);

create table turno.typing (
    queue int not null,
    lane bigint not null,
    at bigint not null,
    primary key (queue, lane)
);
