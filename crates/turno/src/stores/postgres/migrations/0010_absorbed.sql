-- Ids of changes that an unfinished sync item took in: all that is left of them, so that a late repeat is recognised.
--
-- `digest` tells a repeat from a mix-up. By age for the retention.
create table turno.absorbed (
    queue int not null,
    id text collate "C" not null,
    digest bigint not null,
    at bigint not null,
    primary key (queue, id)
);
create index absorbed_age on turno.absorbed (queue, at);
revoke all on turno.absorbed from public;

-- What was accepted under the item's id, where its body says something else by now. Null of nearly all.
alter table turno.body add column accepted text;
