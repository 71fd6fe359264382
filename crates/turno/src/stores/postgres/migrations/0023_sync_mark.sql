-- Keys that triggers of sync sources have marked. Written in applications' transactions and deleted by the process that
-- takes them in, like turno.intake. Its rows are narrow and have one index, because an application waits for each of
-- them. Transactions of all ages write into it beside every later version of the engine: its columns stay as they are.
--   n    the order of calls, from the same sequence as turno.intake
--   at   the time of the change
create table turno.sync_mark (
    xid xid8 not null default pg_current_xact_id(),
    queue int not null,
    n bigint not null default nextval('turno.intake_n_seq'),
    at timestamptz not null,
    key text collate "C" not null
) with (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
create index sync_mark_look on turno.sync_mark (xid, queue, n);
revoke all on turno.sync_mark from public;
