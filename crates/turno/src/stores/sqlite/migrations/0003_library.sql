-- People, tokens, the audit, tasks and stock.

-- Grows when access is taken away. In the row that every group reads anyway.
alter table mark add column epoch integer not null default 0;

-- How many finished items have been forgotten: accepted is always the sum of all states and this.
alter table queue add column purged integer not null default 0;

create table person (
    id text not null primary key,
    name text not null,
    role text not null,
    disabled integer not null,
    password text,
    created_at integer not null
) strict;

-- Only the hash of a secret is ever here. `scope`: permissions separated by spaces; null means all of the owner's.
create table token (
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
) strict;
create index token_user on token (user_id);
create index token_parent on token (parent) where parent is not null;
-- For the retention: sessions come and go by the thousand.
create index token_expiry on token (expires_at) where expires_at is not null;

-- For the retention, which goes by age.
create index lease_history_age on lease_history (at);

-- A chain: each hash covers the entry before.
create table audit (
    n integer primary key,
    at integer not null,
    actor text not null,
    via text,
    action text not null,
    resource text not null,
    detail text not null,
    hash blob not null
) strict;
create index audit_resource on audit (resource, n);

create table audit_head (
    n integer not null,
    hash blob not null
) strict;
insert into audit_head (n, hash) values (0, zeroblob(32));

create trigger audit_is_final before update on audit begin
    select raise(abort, 'entries of the audit are not changed nor removed');
end;
-- `insert or replace` removes the row that is in its way, and no trigger on delete hears of it.
create trigger audit_is_kept before insert on audit when exists (select 1 from audit where n = new.n) begin
    select raise(abort, 'entries of the audit are not changed nor removed');
end;
create trigger audit_stays before delete on audit begin
    select raise(abort, 'entries of the audit are not changed nor removed');
end;

create table task (
    id integer primary key autoincrement,
    title text not null,
    status text not null,
    created_at integer not null,
    created_by text not null,
    updated_at integer not null,
    finalized text
) strict;
create index task_status on task (status, id);

-- `serials` is a JSON array for units with serial numbers, and null where there is a `quantity`.
create table task_line (
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

create table task_note (
    n integer primary key autoincrement,
    task integer not null,
    at integer not null,
    actor text not null,
    via text,
    what text not null,
    line integer,
    detail text
) strict;
create index task_note_task on task_note (task, n);

create table stock (
    sku text not null primary key,
    quantity integer not null check (quantity >= 0)
) strict, without rowid;

create table stock_serial (
    sku text not null,
    serial text not null,
    primary key (sku, serial)
) strict, without rowid;

-- One row per applied line: its effect exists exactly once, and the database says so too.
create table stock_move (
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
