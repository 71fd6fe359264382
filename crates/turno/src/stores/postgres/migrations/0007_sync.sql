-- What destinations were told last about each key: what a source is compared with.

-- One row per key that was ever delivered. No digest: it was deactivated.
create table turno.sync_delivered (
    queue int not null,
    key text collate "C" not null,
    revision bigint not null,
    action text not null,
    digest bytea,
    at bigint not null,
    primary key (queue, key)
);
