-- Queues whose deliveries are sent to an endpoint, and how those destinations are doing.

-- JSON that only the server reads; nothing if workers claim the queue.
alter table turno.queue add column push text;

-- One row per queue whose destination ever failed. No failures: it is well.
create table turno.destination (
    queue int primary key,
    version bigint not null,
    failures int not null,
    first bigint not null,
    several boolean not null,
    began_at bigint not null,
    down_at bigint,
    probe_at bigint not null,
    error text not null,
    revive_since bigint
);
