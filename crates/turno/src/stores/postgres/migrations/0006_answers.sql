-- Calls that are done once, however often they are repeated; signing in; forgetting by age.

-- The answers to such calls, for a day.
create table turno.answer (
    scope text collate "C" not null,
    key text collate "C" not null,
    fingerprint bytea not null,
    status integer not null,
    body text not null,
    made_at bigint not null,
    primary key (scope, key)
);
create index answer_age on turno.answer (made_at);

-- Under which key a task was made: should the process die between the task and its kept answer, this one remembers.
alter table turno.task add column once_scope text collate "C", add column once_key text collate "C";
create unique index task_once on turno.task (once_scope, once_key) where once_key is not null;

-- Links that let somebody in once; without a user, as the first administrator. Of the secret only the hash.
create table turno.link (
    hash bytea primary key,
    user_id text collate "C",
    expires_at bigint not null,
    created_at bigint not null
);
create index link_expiry on turno.link (expires_at);

-- Sessions of the console end with the password.
alter table turno.token add column console boolean not null default false;

create index token_expiry on turno.token (expires_at) where expires_at is not null;
create index lease_history_age on turno.lease_history (ended_at);
