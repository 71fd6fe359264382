-- Calls that are done once, however often they are repeated; signing in.

-- The answers to such calls, for a day.
create table answer (
    scope text not null,
    key text not null,
    fingerprint blob not null,
    status integer not null,
    body text not null,
    made_at integer not null,
    primary key (scope, key)
) strict, without rowid;
create index answer_age on answer (made_at);

-- Under which key a task was made: should the process die between the task and its kept answer, this one remembers.
alter table task add column once_scope text;
alter table task add column once_key text;
create unique index task_once on task (once_scope, once_key) where once_key is not null;

-- Links that let somebody in once; without a user, as the first administrator. Of the secret only the hash.
create table link (
    hash blob not null primary key,
    user_id text,
    expires_at integer not null,
    created_at integer not null
) strict, without rowid;
create index link_expiry on link (expires_at);

-- Sessions of the console end with the password.
alter table token add column console integer not null default 0;
