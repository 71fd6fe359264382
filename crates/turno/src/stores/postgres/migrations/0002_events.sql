-- The stream of events. Transactions go on writing into event_in; what they committed is moved here, one sequencer at
-- a time, and gets its position then. Positions are consecutive. Programs of version 1 only write event_in: they can
-- go on beside this.

create table turno.event_log (
    pos bigint primary key,
    topic text not null,
    name text not null,
    resource text collate "C" not null,
    at bigint not null,
    fence bigint,
    by_user text collate "C",
    detail text
);

-- Up to where events were purged. The last position given is the last one in event_log, or this if there is none: a
-- counter that is written with every run would leave versions behind, and this row is only written by purges.
create table turno.event_purged (
    pos bigint not null
);
insert into turno.event_purged (pos) values (0);

-- Every row of it is deleted soon after it was inserted.
alter table turno.event_in set (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
