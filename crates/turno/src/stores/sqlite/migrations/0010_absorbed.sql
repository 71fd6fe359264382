-- Ids of changes that an unfinished sync item took in: all that is left of them, so that a late repeat is recognised.
--
-- `digest` tells a repeat from a mix-up. By age for the retention.
create table absorbed (
    queue integer not null,
    id text not null,
    digest integer not null,
    at integer not null,
    primary key (queue, id)
) strict, without rowid;
create index absorbed_age on absorbed (queue, at);

-- What was accepted under the item's id, where its body says something else by now. Null of nearly all.
alter table body add column accepted text;
