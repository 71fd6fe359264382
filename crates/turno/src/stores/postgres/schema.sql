-- Made by the tests from a migrated database (TURNO_UPDATE_SCHEMA=1 rewrites it).
attempt_error.seq bigint not null
attempt_error.attempt smallint not null
attempt_error.fence bigint not null
attempt_error.at bigint not null
attempt_error.error text not null
attempt_error.retry_at bigint
attempt_error.holder text
body.seq bigint not null
body.queue integer not null
body.id text collate C not null
body.key text collate C
body.action text
body.payload text not null
body.enqueued_at bigint not null
done.seq bigint not null
done.queue integer not null
done.ended smallint not null
done.at bigint not null
done.attempt smallint not null
done.fence bigint not null
done.revision bigint not null
done.holder text
event_in.n bigint not null identity
event_in.topic text not null
event_in.name text not null
event_in.resource text collate C not null
event_in.at bigint not null
event_in.fence bigint
event_in.by_user text collate C
event_in.detail text
event_log.pos bigint not null
event_log.topic text not null
event_log.name text not null
event_log.resource text collate C not null
event_log.at bigint not null
event_log.fence bigint
event_log.by_user text collate C
event_log.detail text
event_purged.pos bigint not null
hot.seq bigint not null
hot.queue integer not null
hot.lane bigint
hot.enqueued_at bigint not null
hot.not_before bigint not null
hot.ready_at bigint
hot.expires_at bigint
hot.claimed_at bigint
hot.attempt smallint not null default 0
hot.fence bigint not null default 0
hot.grp bigint not null default 0
hot.last smallint not null default 0
hot.revision bigint not null
hot.handed bigint not null default 0
hot.parked boolean not null default false
hot.holder text
lease.resource text collate C not null
lease.holder_user text collate C
lease.holder_name text
lease.holder_instance text collate C
lease.fence bigint
lease.claim bigint
lease.ttl_ms bigint
lease.locked_at bigint
lease.worked_at bigint
lease.heartbeat_at bigint
lease.expires_at bigint
lease.idle boolean
lease.waiting text
lease.ended text
lease_history.resource text collate C not null
lease_history.fence bigint not null
lease_history.holder_user text collate C not null
lease_history.holder_name text not null
lease_history.holder_instance text collate C
lease_history.claim bigint not null
lease_history.ttl_ms bigint not null
lease_history.locked_at bigint not null
lease_history.worked_at bigint not null
lease_history.heartbeat_at bigint not null
lease_history.expires_at bigint not null
lease_history.idle boolean not null
lease_history.ended_at bigint not null
lease_history.reason text not null
lease_history.cause text not null
lease_history.by_user text collate C
lease_history.note text
mark.high bigint not null
queue.id integer not null identity
queue.name text collate C not null
queue.policy text not null
queue.kind text not null
queue.version bigint not null
queue.paused boolean not null
schema_version.version integer not null
schema_version.min_compatible integer not null
typing.queue integer not null
typing.lane bigint not null
typing.at bigint not null
CREATE INDEX attempt_error_seq ON turno.attempt_error USING btree (seq)
CREATE UNIQUE INDEX body_pkey ON turno.body USING btree (seq)
CREATE UNIQUE INDEX body_queue_id_key ON turno.body USING btree (queue, id)
CREATE UNIQUE INDEX done_pkey ON turno.done USING btree (seq)
CREATE UNIQUE INDEX event_in_pkey ON turno.event_in USING btree (n)
CREATE UNIQUE INDEX event_log_pkey ON turno.event_log USING btree (pos)
CREATE INDEX hot_expiry ON turno.hot USING btree (expires_at) WHERE (expires_at IS NOT NULL)
CREATE INDEX hot_lane ON turno.hot USING btree (queue, lane, seq) WHERE (lane IS NOT NULL)
CREATE UNIQUE INDEX hot_pkey ON turno.hot USING btree (seq)
CREATE INDEX hot_ready ON turno.hot USING btree (queue, ready_at, seq) WHERE (ready_at IS NOT NULL)
CREATE UNIQUE INDEX lease_history_pkey ON turno.lease_history USING btree (resource, fence)
CREATE UNIQUE INDEX lease_pkey ON turno.lease USING btree (resource)
CREATE UNIQUE INDEX queue_name_key ON turno.queue USING btree (name)
CREATE UNIQUE INDEX queue_pkey ON turno.queue USING btree (id)
CREATE UNIQUE INDEX schema_version_pkey ON turno.schema_version USING btree (version)
CREATE UNIQUE INDEX typing_pkey ON turno.typing USING btree (queue, lane)
sequence event_in_n_seq bigint cache 1
sequence number bigint cache 1
sequence queue_id_seq integer cache 1
sequence rebirth bigint cache 1
table body with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0)
table event_in with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0)
table hot with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0)
table lease with (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0)
