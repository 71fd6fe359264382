-- What destinations were told last about each key.

-- One row per key that was ever delivered. No digest: it was deactivated.
create table sync_delivered (
    queue integer not null,
    key text not null,
    revision integer not null,
    action text not null,
    digest blob,
    at integer not null,
    primary key (queue, key)
) strict, without rowid;
