-- What the migrations make. Written by the test that compares it: TURNO_UPDATE_SCHEMA=1.

CREATE TABLE absorbed (
    queue integer not null,
    id text not null,
    digest integer not null,
    at integer not null,
    primary key (queue, id)
) strict, without rowid;

CREATE INDEX absorbed_age on absorbed (queue, at);

CREATE TABLE answer (
    scope text not null,
    key text not null,
    fingerprint blob not null,
    status integer not null,
    body text not null,
    made_at integer not null,
    primary key (scope, key)
) strict, without rowid;

CREATE INDEX answer_age on answer (made_at);

CREATE TABLE attempt_error (
    seq integer not null,
    attempt integer not null,
    fence integer not null,
    at integer not null,
    error text not null,
    retry_at integer,
    holder text
, handed_at integer, expired integer) strict;

CREATE INDEX attempt_error_age on attempt_error (at);

CREATE INDEX attempt_error_item on attempt_error (seq);

CREATE TRIGGER audit_is_final before update on audit begin
    select raise(abort, 'entries of the audit are not changed nor removed');
end;

CREATE TRIGGER audit_is_kept before insert on audit when exists (select 1 from audit where n = new.n) begin
    select raise(abort, 'entries of the audit are not changed nor removed');
end;

CREATE TRIGGER audit_stays before delete on audit begin
    select raise(abort, 'entries of the audit are not changed nor removed');
end;

CREATE TABLE audit (
    n integer primary key,
    at integer not null,
    actor text not null,
    via text,
    action text not null,
    resource text not null,
    detail text not null,
    hash blob not null
) strict;

CREATE INDEX audit_resource on audit (resource, n);

CREATE TABLE audit_head (
    n integer not null,
    hash blob not null
) strict;

CREATE TABLE body (
    seq integer primary key,
    queue integer not null,
    id text not null,
    key text,
    action text,
    payload text not null,
    enqueued_at integer not null, accepted text,
    unique (queue, id)
) strict;

CREATE INDEX body_key on body (queue, key, seq) where key is not null;

CREATE TABLE came_back (
    seq integer not null,
    fence integer not null,
    how integer not null,
    at integer not null,
    holder text,
    handed_at integer,
    error text,
    primary key (seq, fence)
) strict, without rowid;

CREATE TABLE destination (
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
, stuck_at integer, revive_until integer) strict;

CREATE TABLE done (
    seq integer primary key,
    queue integer not null,
    ended integer not null,
    at integer not null,
    attempt integer not null,
    fence integer not null,
    revision integer not null,
    holder text
, handed_at integer) strict;

CREATE INDEX done_age on done (queue, at, ended);

CREATE INDEX done_unacked on done (queue, ended, seq) where ended <> 0;

CREATE TABLE event_in (
    n integer primary key autoincrement,
    topic text not null,
    name text not null,
    resource text not null,
    at integer not null,
    fence integer,
    by_user text,
    detail text
, to_users text) strict;

CREATE TABLE hot (
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
, size integer, request text, request_fence integer) strict;

CREATE INDEX hot_expiry on hot (expires_at) where expires_at is not null;

CREATE INDEX hot_lane on hot (queue, lane, seq) where lane is not null;

CREATE INDEX hot_parked on hot (queue, seq) where parked;

CREATE INDEX hot_ready on hot (queue, ready_at, seq) where ready_at is not null;

CREATE INDEX hot_request on hot (queue, request) where request is not null;

CREATE TABLE lease (
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
, look_at integer) strict, without rowid;

CREATE INDEX lease_look on lease (look_at) where look_at is not null;

CREATE TABLE lease_history (
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

CREATE INDEX lease_history_age on lease_history (at);

CREATE TABLE life (
    identifier text,
    timeline text,
    started text
) strict;

CREATE TABLE link (
    hash blob not null primary key,
    user_id text,
    expires_at integer not null,
    created_at integer not null
) strict, without rowid;

CREATE INDEX link_expiry on link (expires_at);

CREATE TABLE mark (high integer not null, epoch integer not null default 0) strict;

CREATE TABLE number (value integer not null) strict;

CREATE TABLE person (
    id text not null primary key,
    name text not null,
    role text not null,
    disabled integer not null,
    password text,
    created_at integer not null
, issuer text, subject text) strict;

CREATE UNIQUE INDEX person_identity on person (issuer, subject);

CREATE TABLE queue (
    id integer primary key,
    name text not null unique,
    policy text not null,
    kind text not null,
    version integer not null,
    paused integer not null
, purged integer not null default 0, push text) strict;

CREATE TABLE schema_version (
    version integer not null,
    min_compatible integer not null
) strict;

CREATE TABLE sign_in_pace (
    key blob not null primary key,
    paid_until integer not null
) strict, without rowid;

CREATE INDEX sign_in_pace_over on sign_in_pace (paid_until);

CREATE TABLE stock (
    sku text not null primary key,
    quantity integer not null check (quantity >= 0)
) strict, without rowid;

CREATE TABLE stock_move (
    task integer not null,
    line integer not null,
    sku text not null,
    delta integer not null,
    serials text not null,
    fence integer not null,
    by_user text not null,
    at integer not null,
    primary key (task, line)
) strict, without rowid;

CREATE TABLE stock_serial (
    sku text not null,
    serial text not null,
    primary key (sku, serial)
) strict, without rowid;

CREATE TABLE sync_delivered (
    queue integer not null,
    key text not null,
    revision integer not null,
    action text not null,
    digest blob,
    at integer not null,
    primary key (queue, key)
) strict, without rowid;

CREATE TABLE task (
    id integer primary key autoincrement,
    title text not null,
    status text not null,
    created_at integer not null,
    created_by text not null,
    updated_at integer not null,
    finalized text
, once_scope text, once_key text) strict;

CREATE UNIQUE INDEX task_once on task (once_scope, once_key) where once_key is not null;

CREATE INDEX task_status on task (status, id);

CREATE TABLE task_line (
    task integer not null,
    number integer not null,
    movement text not null,
    sku text not null,
    quantity integer,
    serials text,
    status text not null,
    error text,
    applied_at integer,
    applied_fence integer,
    applied_by text,
    primary key (task, number)
) strict, without rowid;

CREATE TABLE task_note (
    n integer primary key autoincrement,
    task integer not null,
    at integer not null,
    actor text not null,
    via text,
    what text not null,
    line integer,
    detail text
) strict;

CREATE INDEX task_note_task on task_note (task, n);

CREATE TABLE token (
    id text not null primary key,
    hash blob not null unique,
    user_id text not null,
    name text,
    machine integer not null,
    scope text,
    resources text not null,
    expires_at integer,
    created_at integer not null,
    created_by text not null,
    parent text,
    last_used_at integer
, console integer not null default 0, queues text not null default '[]', reads text not null default '') strict;

CREATE INDEX token_expiry on token (expires_at) where expires_at is not null;

CREATE INDEX token_parent on token (parent) where parent is not null;

CREATE INDEX token_user on token (user_id);

CREATE TABLE typing (
    queue integer not null,
    lane integer not null,
    at integer not null,
    primary key (queue, lane)
) strict, without rowid;
