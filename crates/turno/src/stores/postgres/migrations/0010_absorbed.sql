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

-- What the body says is not what was accepted under its id. Null of nearly all, and of what came before this.
alter table turno.body add column replaced boolean;
