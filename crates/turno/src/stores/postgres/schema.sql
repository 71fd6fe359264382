-- Made by the tests from a migrated database (TURNO_UPDATE_SCHEMA=1 rewrites it).
absorbed.queue integer not null
absorbed.id text collate C not null
absorbed.digest bigint not null
absorbed.at bigint not null
answer.scope text collate C not null
answer.key text collate C not null
answer.fingerprint bytea not null
answer.status integer not null
answer.body text not null
answer.made_at bigint not null
attempt_error.seq bigint not null
attempt_error.attempt smallint not null
attempt_error.fence bigint not null
attempt_error.at bigint not null
attempt_error.error text not null
attempt_error.retry_at bigint
attempt_error.holder text
attempt_error.handed_at bigint
attempt_error.expired boolean
audit.n bigint not null
audit.at bigint not null
audit.actor text collate C not null
audit.via text collate C
audit.action text not null
audit.resource text collate C not null
audit.detail text not null
audit.hash bytea not null
audit_head.n bigint not null
audit_head.hash bytea not null
body.seq bigint not null
body.queue integer not null
body.id text collate C not null
body.key text collate C
body.action text
body.payload text not null
body.enqueued_at bigint not null
body.accepted text
came_back.seq bigint not null
came_back.fence bigint not null
came_back.how smallint not null
came_back.at bigint not null
came_back.holder text
came_back.handed_at bigint
came_back.error text
destination.queue integer not null
destination.version bigint not null
destination.failures integer not null
destination.first bigint not null
destination.several boolean not null
destination.began_at bigint not null
destination.down_at bigint
destination.probe_at bigint not null
destination.error text not null
destination.revive_since bigint
destination.stuck_at bigint
destination.revive_until bigint
done.seq bigint not null
done.queue integer not null
done.ended smallint not null
done.at bigint not null
done.attempt smallint not null
done.fence bigint not null
done.revision bigint not null
done.holder text
done.handed_at bigint
event_in.n bigint not null identity
event_in.topic text not null
event_in.name text not null
event_in.resource text collate C not null
event_in.at bigint not null
event_in.fence bigint
event_in.by_user text collate C
event_in.detail text
event_in.to_users text
event_log.pos bigint not null
event_log.topic text not null
event_log.name text not null
event_log.resource text collate C not null
event_log.at bigint not null
event_log.fence bigint
event_log.by_user text collate C
event_log.detail text
event_log.to_users text
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
hot.size smallint
hot.request text collate C
hot.request_fence bigint
intake.n bigint not null identity
intake.xid bigint not null default ((pg_current_xact_id())::text)::bigint
intake.kind text not null
intake.at bigint not null
intake.queue integer not null
intake.id text collate C
intake.given boolean not null default false
intake.key text collate C
intake.action text
intake.payload text
intake.delay_ms bigint not null default 0
intake.seq bigint
intake.lane bigint
intake.size bigint
intake.fence bigint
intake_refused.n bigint not null
intake_refused.kind text not null
intake_refused.at bigint not null
intake_refused.queue integer not null
intake_refused.id text collate C
intake_refused.key text collate C
intake_refused.action text
intake_refused.payload text
intake_refused.delay_ms bigint not null
intake_refused.seq bigint
intake_refused.lane bigint
intake_refused.size bigint
intake_refused.fence bigint
intake_refused.error text not null
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
lease.look_at bigint
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
life.identifier text
life.timeline text
life.started text
life.number bigint not null
link.hash bytea not null
link.user_id text collate C
link.expires_at bigint not null
link.created_at bigint not null
mark.high bigint not null
mark.epoch bigint not null default 0
person.id text collate C not null
person.name text not null
person.role text not null
person.disabled boolean not null
person.password text
person.created_at bigint not null
person.issuer text
person.subject text
queue.id integer not null identity
queue.name text collate C not null
queue.policy text not null
queue.kind text not null
queue.version bigint not null
queue.paused boolean not null
queue.purged bigint not null default 0
queue.push text
schema_version.version integer not null
schema_version.min_compatible integer not null
sign_in_pace.key bytea not null
sign_in_pace.paid_until bigint not null
stock.sku text collate C not null
stock.quantity bigint not null
stock_move.task bigint not null
stock_move.line integer not null
stock_move.sku text collate C not null
stock_move.delta bigint not null
stock_move.serials text not null
stock_move.fence bigint not null
stock_move.by_user text collate C not null
stock_move.at bigint not null
stock_serial.sku text collate C not null
stock_serial.serial text collate C not null
sync_delivered.queue integer not null
sync_delivered.key text collate C not null
sync_delivered.revision bigint not null
sync_delivered.action text not null
sync_delivered.digest bytea
sync_delivered.at bigint not null
sync_mark.xid xid8 not null default pg_current_xact_id()
sync_mark.queue integer not null
sync_mark.n bigint not null default nextval('intake_n_seq'::regclass)
sync_mark.at timestamp with time zone not null
sync_mark.key text collate C not null
task.id bigint not null identity
task.title text not null
task.status text not null
task.created_at bigint not null
task.created_by text collate C not null
task.updated_at bigint not null
task.finalized text
task.once_scope text collate C
task.once_key text collate C
task_line.task bigint not null
task_line.number integer not null
task_line.movement text not null
task_line.sku text collate C not null
task_line.quantity bigint
task_line.serials text
task_line.status text not null
task_line.error text
task_line.applied_at bigint
task_line.applied_fence bigint
task_line.applied_by text collate C
task_note.task bigint not null
task_note.n bigint not null identity
task_note.at bigint not null
task_note.actor text collate C not null
task_note.via text collate C
task_note.what text not null
task_note.line integer
task_note.detail text
token.id text collate C not null
token.hash bytea not null
token.user_id text collate C not null
token.name text
token.machine boolean not null
token.scope text
token.resources text not null
token.expires_at bigint
token.created_at bigint not null
token.created_by text collate C not null
token.parent text collate C
token.last_used_at bigint
token.console boolean not null default false
token.queues text not null default '[]'::text
token.reads text not null default ''::text
typing.queue integer not null
typing.lane bigint not null
typing.at bigint not null
CREATE INDEX absorbed_age ON turno.absorbed USING btree (queue, at)
CREATE UNIQUE INDEX absorbed_pkey ON turno.absorbed USING btree (queue, id)
CREATE INDEX answer_age ON turno.answer USING btree (made_at)
CREATE UNIQUE INDEX answer_pkey ON turno.answer USING btree (scope, key)
CREATE INDEX attempt_error_recent ON turno.attempt_error USING brin (at) WITH (pages_per_range='32', autosummarize='on')
CREATE INDEX attempt_error_seq ON turno.attempt_error USING btree (seq)
CREATE UNIQUE INDEX audit_pkey ON turno.audit USING btree (n)
CREATE INDEX audit_resource ON turno.audit USING btree (resource, n)
CREATE INDEX body_key ON turno.body USING btree (queue, key, seq) WHERE (key IS NOT NULL)
CREATE UNIQUE INDEX body_pkey ON turno.body USING btree (seq)
CREATE UNIQUE INDEX body_queue_id_key ON turno.body USING btree (queue, id)
CREATE UNIQUE INDEX came_back_pkey ON turno.came_back USING btree (seq, fence)
CREATE UNIQUE INDEX destination_pkey ON turno.destination USING btree (queue)
CREATE UNIQUE INDEX done_pkey ON turno.done USING btree (seq)
CREATE INDEX done_recent ON turno.done USING brin (at) WITH (pages_per_range='32', autosummarize='on')
CREATE INDEX done_unacked ON turno.done USING btree (queue, ended, seq) WHERE (ended <> 0)
CREATE UNIQUE INDEX event_in_pkey ON turno.event_in USING btree (n)
CREATE UNIQUE INDEX event_log_pkey ON turno.event_log USING btree (pos)
CREATE INDEX hot_expiry ON turno.hot USING btree (expires_at) WHERE (expires_at IS NOT NULL)
CREATE INDEX hot_lane ON turno.hot USING btree (queue, lane, seq) WHERE (lane IS NOT NULL)
CREATE INDEX hot_parked ON turno.hot USING btree (queue, seq) WHERE parked
CREATE UNIQUE INDEX hot_pkey ON turno.hot USING btree (seq)
CREATE INDEX hot_ready ON turno.hot USING btree (queue, ready_at, seq) WHERE (ready_at IS NOT NULL)
CREATE INDEX hot_request ON turno.hot USING btree (queue, request) WHERE (request IS NOT NULL)
CREATE INDEX intake_ack ON turno.intake USING btree (seq, fence) WHERE (seq IS NOT NULL)
CREATE INDEX intake_look ON turno.intake USING btree (xid, queue, n)
CREATE UNIQUE INDEX intake_pkey ON turno.intake USING btree (n)
CREATE UNIQUE INDEX intake_refused_pkey ON turno.intake_refused USING btree (n)
CREATE INDEX lease_history_age ON turno.lease_history USING btree (ended_at)
CREATE UNIQUE INDEX lease_history_pkey ON turno.lease_history USING btree (resource, fence)
CREATE INDEX lease_look ON turno.lease USING btree (look_at) WHERE (look_at IS NOT NULL)
CREATE UNIQUE INDEX lease_pkey ON turno.lease USING btree (resource)
CREATE INDEX link_expiry ON turno.link USING btree (expires_at)
CREATE UNIQUE INDEX link_pkey ON turno.link USING btree (hash)
CREATE UNIQUE INDEX person_identity ON turno.person USING btree (issuer, subject)
CREATE UNIQUE INDEX person_pkey ON turno.person USING btree (id)
CREATE UNIQUE INDEX queue_name_key ON turno.queue USING btree (name)
CREATE UNIQUE INDEX queue_pkey ON turno.queue USING btree (id)
CREATE UNIQUE INDEX schema_version_pkey ON turno.schema_version USING btree (version)
CREATE INDEX sign_in_pace_over ON turno.sign_in_pace USING btree (paid_until)
CREATE UNIQUE INDEX sign_in_pace_pkey ON turno.sign_in_pace USING btree (key)
CREATE UNIQUE INDEX stock_move_pkey ON turno.stock_move USING btree (task, line)
CREATE UNIQUE INDEX stock_pkey ON turno.stock USING btree (sku)
CREATE UNIQUE INDEX stock_serial_pkey ON turno.stock_serial USING btree (sku, serial)
CREATE UNIQUE INDEX sync_delivered_pkey ON turno.sync_delivered USING btree (queue, key)
CREATE INDEX sync_mark_look ON turno.sync_mark USING btree (xid, queue, n)
CREATE UNIQUE INDEX task_line_pkey ON turno.task_line USING btree (task, number)
CREATE UNIQUE INDEX task_note_pkey ON turno.task_note USING btree (task, n)
CREATE UNIQUE INDEX task_once ON turno.task USING btree (once_scope, once_key) WHERE (once_key IS NOT NULL)
CREATE UNIQUE INDEX task_pkey ON turno.task USING btree (id)
CREATE INDEX task_status ON turno.task USING btree (status, id)
CREATE INDEX token_expiry ON turno.token USING btree (expires_at) WHERE (expires_at IS NOT NULL)
CREATE UNIQUE INDEX token_hash_key ON turno.token USING btree (hash)
CREATE INDEX token_parent ON turno.token USING btree (parent) WHERE (parent IS NOT NULL)
CREATE UNIQUE INDEX token_pkey ON turno.token USING btree (id)
CREATE INDEX token_user ON turno.token USING btree (user_id)
CREATE UNIQUE INDEX typing_pkey ON turno.typing USING btree (queue, lane)
sequence event_in_n_seq bigint cache 1
sequence intake_n_seq bigint cache 1
sequence number bigint cache 1
sequence queue_id_seq integer cache 1
sequence rebirth bigint cache 1
sequence task_id_seq bigint cache 1
sequence task_note_n_seq bigint cache 1
table body with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0)
table event_in with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0)
table hot with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0)
table intake with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0)
table lease with (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0)
table sync_mark with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0)
