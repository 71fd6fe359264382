//! The PostgreSQL store.
//!
//! A group is one transaction in at most two pipelined round trips, or three where the second read depends on the
//! first. The first trip begins, locks, reads, and reads the clock last. Then the group is decided. The second trip
//! writes and commits. Each route has its own connection, and so have heartbeats and hints. There is no connection
//! pool, and no session state is relied on between two transactions.
//!
//! | file | contents |
//! |---|---|
//! | `sql`, `call` | the list of statements; a statement with its parameters |
//! | `connection`, `slot`, `read`, `error` | a connection, the slot that keeps it, reads outside of groups, the errors |
//! | `tx`, `commit` | a group's transaction, and finding out its outcome |
//! | `lease`, `enqueue`, `claim`, `settle`, `manage`, `task`, `access` | the rows that each kind of group locks and reads |
//! | `changes` | the rows that queue commands write |
//! | `arrive` | inbox items that are written without reading first |
//! | `line`, `effect`, `stock` | one line of a finalize, an application's own effect, and the stock ledger |
//! | `audit` | the audit's head, which every transaction locks last, and its entries |
//! | `sync` | triggers on tables of applications, and reading those tables |
//! | `intake` | taking in what applications enqueued or completed in their own transactions |
//! | `floor`, `expiry`, `lane` | where index scans start, so that they skip dead entries |
//! | `life` | lives of the database: caches are cleared when a new life begins |
//! | `item`, `queue`, `event`, `answer`, `purge`, `check`, `repair` | everything else outside of groups |
//! | `row` | conversion between columns and values |
//! | `hint`, `schema` | hints to other processes; the schema |
//!
//! All transactions lock in one order: task, lease, line, article (or lane, item, queue), and the audit's head last. No
//! transaction waits for a lock that an application can hold: leases that an open transaction asserts are skipped and
//! reported as pinned, and a busy task is refused as busy.
//!
//! Not here: rules (the core's), retries of conflicts (the engine's), TLS (the server's).

mod access;
mod answer;
mod arrive;
mod audit;
mod call;
mod changes;
mod check;
mod claim;
mod commit;
mod connection;
mod destination;
mod effect;
mod enqueue;
mod error;
mod event;
mod expiry;
mod floor;
mod hint;
mod intake;
mod item;
mod lane;
mod lease;
mod life;
mod line;
mod manage;
mod purge;
mod queue;
mod read;
mod repair;
mod row;
mod schema;
mod settle;
mod slot;
mod sql;
mod stock;
mod sync;
mod task;
#[cfg(test)]
mod tests;
mod tx;

use crate::clock::Clock;
use crate::store::{
    Answer, AuditQuery, Check, Counts, Delivered, Effect, EventSpan, Finding, Group, Hint, IntakeStore, ItemQuery,
    ItemRecord, LaneFront, LaneLocks, LeaseQuery, LineStep, Outcomes, Past, PauseQueue, Peeked, Pending, Pulse, Purge,
    PutQueue, QueueRow, RepairGroup, RepairOutcome, Routes, SchemaState, Sequenced, SourceTables, StockLevel, Store,
    StoreError, TaskPage, TaskQuery, TokenFound,
};
use connection::Address;
use event::Sequencer;
use expiry::Expiry;
use floor::Floors;
use hint::Hints;
use intake::Intake;
use lane::Lanes;
use life::{Lives, Recorded};
use slot::Slot;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_postgres::config::Host;
use turno_core::access::{Epoch, Link, Person, Token};
use turno_core::audit::{Actor, Entry, Hash, Head};
use turno_core::destination::Destination;
use turno_core::event::Event;
use turno_core::id::{Fence, ItemId, Key, Lane, Once, Position, QueueId, QueueName, Resource, Seq, Sku, UserId};
use turno_core::lease::{Ending, State};
use turno_core::queue::{DeliveryRef, SettleOutcome, Waited};
use turno_core::task::{Apply, Note, Task, TaskId};
use turno_core::time::Time;

/// Connections for groups: two for leases, two for items, and the reserved one.
const ROUTES: usize = 5;
/// Connections for heartbeats, which are read outside of groups.
const PEEKERS: usize = 2;
/// Connections for reads outside of groups.
const READERS: usize = 2;
/// Connections for lines of finalizes. An effect may be slow, so lines share no connection with groups.
const LINES: usize = 2;

/// The store for a PostgreSQL database.
pub(crate) struct PostgresStore {
    description: String,
    address: Address,
    shared: Shared,
    expiry: Expiry,
    looks: Expiry,
    routes: [Slot; ROUTES],
    readers: [Slot; READERS],
    peekers: [Slot; PEEKERS],
    sequencer: Sequencer,
    lines: [Slot; LINES],
    line_permits: Semaphore,
    effect_max: Duration,
    /// For writes outside of groups and lines.
    keeper: Slot,
    intake: Intake,
    sources: [Slot; sync::SOURCES],
    hints: Hints,
}

/// State that all transactions share: the guarded clock, and caches of where to start scanning.
struct Shared {
    clock: Arc<Clock>,
    floors: Floors,
    lanes: Lanes,
    lives: Lives,
    /// The highest time this process has recorded.
    recorded: Recorded,
}

impl PostgresStore {
    /// Connects, and migrates the schema if `migrate` is true. Otherwise returns an error if this program cannot use
    /// the schema. Then begins a life and resumes the clock from the recorded mark.
    pub(crate) async fn open(url: &str, clock: Arc<Clock>, migrate: bool) -> Result<PostgresStore, StoreError> {
        let address = Address::parse(url)?;
        let mut link = address.connect().await?;
        if migrate {
            schema::migrate(&mut link).await?;
        } else {
            schema::look(&mut link).await?.required()?;
        }
        let description = format!("PostgreSQL {}, {}", link.version, display_location(&address));
        let floors = Floors::default();
        let hints = Hints::new(address.clone(), floors.clone());
        let (lanes, lives, recorded) = (Lanes::default(), Lives::default(), Recorded::default());
        let shared = Shared { clock, floors, lanes, lives, recorded };
        let store = PostgresStore {
            description,
            address,
            shared,
            expiry: Expiry::default(),
            looks: Expiry::default(),
            routes: Default::default(),
            readers: Default::default(),
            peekers: Default::default(),
            sequencer: Sequencer::default(),
            lines: Default::default(),
            line_permits: Semaphore::new(LINES),
            effect_max: effect::EFFECT_MAX,
            keeper: Slot::default(),
            intake: Intake::default(),
            sources: Default::default(),
            hints,
        };
        store.begin_life(true).await?;
        Ok(store)
    }

    /// Reads the schema's version of the database that the URL names.
    pub(crate) async fn schema_of(url: &str) -> Result<SchemaState, StoreError> {
        schema::look(&mut Address::parse(url)?.connect().await?).await
    }
}

/// Returns host and database for display, without secrets.
fn display_location(address: &Address) -> String {
    let host = match address.config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        #[cfg(unix)]
        Some(Host::Unix(path)) => path.display().to_string(),
        None => "localhost".into(),
    };
    let database = address.config.get_dbname().or(address.config.get_user()).unwrap_or("postgres");
    format!("{host}/{database}")
}

impl Store for PostgresStore {
    fn describe(&self) -> &str {
        &self.description
    }

    fn routes(&self) -> Routes {
        Routes { merges: false, leases: vec![0, 1], items: vec![2, 3], reserved: 4 }
    }

    fn commit(&self, route: usize, groups: Arc<[Group]>, as_of: Option<Epoch>) -> Pending<'_, Vec<Outcomes>> {
        Box::pin(async move {
            match &*groups {
                [group] => Ok(vec![self.commit_one(route, group, as_of).await?]),
                [] => Ok(Vec::new()),
                _ => Err(StoreError::Rejected("this store takes one group at a time".into())),
            }
        })
    }

    fn peek(&self, resources: Vec<Resource>) -> Pending<'_, Peeked> {
        Box::pin(self.lease_peek(resources))
    }

    fn due_leases(&self, limit: u32) -> Pending<'_, (Vec<Resource>, Option<Time>)> {
        Box::pin(self.leases_due(limit))
    }

    fn lines(&self, after: Option<Resource>, limit: u32) -> Pending<'_, Vec<State>> {
        Box::pin(async move { self.lease_lines(after.as_ref(), limit).await })
    }

    fn ending(&self, resource: Resource, fence: Fence) -> Pending<'_, Option<Ending>> {
        Box::pin(async move { self.lease_ending(&resource, fence).await })
    }

    fn history(&self, resource: Resource, from: Past, limit: u32) -> Pending<'_, Vec<Ending>> {
        Box::pin(async move { self.lease_history(&resource, from, limit).await })
    }

    fn put_queue(&self, put: PutQueue, by: Actor) -> Pending<'_, Option<QueueRow>> {
        Box::pin(async move { self.queue_put(&put, &by).await })
    }

    fn destination(&self, queue: QueueId) -> Pending<'_, Option<Destination>> {
        Box::pin(self.destination_get(queue))
    }

    fn destinations(&self) -> Pending<'_, Vec<(QueueId, Destination)>> {
        Box::pin(self.destination_list())
    }

    fn put_destination(&self, queue: QueueId, destination: Destination, news: Option<Event>) -> Pending<'_, bool> {
        Box::pin(async move { self.destination_put(queue, &destination, news.as_ref()).await })
    }

    fn pause_queue(&self, pause: PauseQueue) -> Pending<'_, ()> {
        Box::pin(async move { self.queue_pause(&pause).await })
    }

    fn queue(&self, name: QueueName) -> Pending<'_, Option<QueueRow>> {
        Box::pin(async move { self.queue_get(&name).await })
    }

    fn queues(&self) -> Pending<'_, Vec<QueueRow>> {
        Box::pin(self.queue_list())
    }

    fn expired(&self, limit: u32) -> Pending<'_, (Vec<DeliveryRef>, Option<Time>)> {
        Box::pin(self.items_expired(limit))
    }

    fn next_look(&self, queue: QueueId, after: Time) -> Pending<'_, Option<Time>> {
        Box::pin(self.queue_next_look(queue, after))
    }

    fn settled(&self, reference: Vec<DeliveryRef>) -> Pending<'_, Vec<Option<SettleOutcome>>> {
        Box::pin(self.items_settled(reference))
    }

    fn item(&self, queue: QueueId, id: ItemId) -> Pending<'_, Option<ItemRecord>> {
        Box::pin(async move { self.item_get(queue, &id).await })
    }

    fn absorber(&self, queue: QueueId, id: ItemId, key: Key) -> Pending<'_, Option<ItemId>> {
        Box::pin(async move { self.item_absorber(queue, &id, &key).await })
    }

    fn items(&self, queue: QueueId, query: ItemQuery) -> Pending<'_, Vec<ItemRecord>> {
        Box::pin(self.item_list(queue, query))
    }

    fn counts(&self, queue: QueueId) -> Pending<'_, Counts> {
        Box::pin(self.queue_counts(queue))
    }

    fn pulse(&self, queue: QueueId, since: Time) -> Pending<'_, Pulse> {
        Box::pin(self.queue_pulse(queue, since))
    }

    fn count_purgeable(&self, queue: QueueId, before: Time) -> Pending<'_, u64> {
        Box::pin(self.purge_count(queue, before))
    }

    fn waits(&self, queue: QueueId, since: Time, limit: u32) -> Pending<'_, Vec<Waited>> {
        Box::pin(self.queue_waits(queue, since, limit))
    }

    fn lane_front(&self, queue: QueueId, lane: Lane, size: u32) -> Pending<'_, LaneFront> {
        Box::pin(self.lane_begin(queue, lane, size))
    }

    fn lanes(&self, queue: QueueId, after: Option<Lane>, limit: u32) -> Pending<'_, Vec<Lane>> {
        Box::pin(self.lane_list(queue, after, limit))
    }

    fn lane_locks(&self) -> Pending<'_, LaneLocks> {
        Box::pin(self.lane_counts())
    }

    fn leases(&self, query: LeaseQuery) -> Pending<'_, Peeked> {
        Box::pin(self.lease_list(query))
    }

    fn apply_line(&self, apply: Apply, effect: Option<Arc<dyn Effect>>) -> Pending<'_, LineStep> {
        Box::pin(async move { self.line_apply(apply, effect.as_deref()).await })
    }

    fn task(&self, id: TaskId) -> Pending<'_, Option<Task>> {
        Box::pin(self.task_get(id))
    }

    fn task_look(&self, id: TaskId) -> Pending<'_, TaskPage> {
        Box::pin(PostgresStore::task_look(self, id))
    }

    fn tasks(&self, query: TaskQuery) -> Pending<'_, TaskPage> {
        Box::pin(self.task_list(query))
    }

    fn task_notes(&self, id: TaskId, after: i64, limit: u32) -> Pending<'_, Vec<(i64, Note)>> {
        Box::pin(self.task_history(id, after, limit))
    }

    fn stock(&self, sku: Sku) -> Pending<'_, Option<StockLevel>> {
        Box::pin(self.stock_get(sku))
    }

    fn token(&self, hash: Hash) -> Pending<'_, TokenFound> {
        Box::pin(self.token_find(hash))
    }

    fn link(&self, hash: Hash) -> Pending<'_, Option<Link>> {
        Box::pin(self.link_find(hash))
    }

    fn recorded(&self) -> Option<Time> {
        self.shared.recorded.get(self.shared.lives.generation())
    }

    fn raise_mark(&self, now: Time) -> Pending<'_, ()> {
        Box::pin(self.mark_raise(now))
    }

    fn admins(&self) -> Pending<'_, i64> {
        Box::pin(self.admin_count())
    }

    fn answer(&self, once: Once) -> Pending<'_, Option<(Answer, Time)>> {
        Box::pin(async move { self.answer_get(&once).await })
    }

    fn keep_answer(&self, once: Once, answer: Answer, at: Time, lapsed: Time) -> Pending<'_, Answer> {
        Box::pin(async move { self.answer_keep(&once, &answer, at, lapsed).await })
    }

    fn schema(&self) -> Pending<'_, SchemaState> {
        Box::pin(self.schema_look())
    }

    fn unsafe_settings(&self) -> Pending<'_, Vec<String>> {
        Box::pin(self.settings_unsafe())
    }

    fn epoch(&self) -> Pending<'_, Epoch> {
        Box::pin(self.access_epoch())
    }

    fn person(&self, id: UserId) -> Pending<'_, Option<Person>> {
        Box::pin(async move { self.person_get(&id).await })
    }

    fn people(&self, after: Option<UserId>, limit: u32) -> Pending<'_, Vec<Person>> {
        Box::pin(async move { self.person_list(after.as_ref(), limit).await })
    }

    fn tokens(&self, user: Option<UserId>, after: Option<String>, limit: u32) -> Pending<'_, Vec<Token>> {
        Box::pin(async move { self.token_list(user.as_ref(), after.as_deref(), limit).await })
    }

    fn touch_tokens(&self, used: Vec<(String, Time)>) -> Pending<'_, ()> {
        Box::pin(self.token_touch(used))
    }

    fn renew_session(&self, id: String, until: Time) -> Pending<'_, bool> {
        Box::pin(async move { self.token_renew(&id, until).await })
    }

    fn audit(&self, query: AuditQuery) -> Pending<'_, Vec<Entry>> {
        Box::pin(self.audit_list(query))
    }

    fn audit_head(&self) -> Pending<'_, Head> {
        Box::pin(self.audit_end())
    }

    fn purge(&self, what: Purge, limit: u32) -> Pending<'_, u64> {
        Box::pin(async move { self.purge_some(&what, limit).await })
    }

    fn purge_leases(&self, after: Option<Resource>, before: Time, limit: u32) -> Pending<'_, (u64, Option<Resource>)> {
        Box::pin(async move { self.purge_free(after.as_ref(), before, limit).await })
    }

    fn check(&self, check: Check, limit: u32) -> Pending<'_, Vec<Finding>> {
        Box::pin(self.findings(check, limit))
    }

    fn repair(&self, repair: RepairGroup) -> Pending<'_, RepairOutcome> {
        Box::pin(async move { self.lane_repair(&repair).await })
    }

    fn backup(&self, _to: std::path::PathBuf) -> Pending<'_, ()> {
        let message = "PostgreSQL has its own tools for that; use pg_dump, or a base backup with archived logs";
        Box::pin(std::future::ready(Err(StoreError::Rejected(message.into()))))
    }

    fn sequence(&self) -> Pending<'_, Sequenced> {
        Box::pin(self.event_sequence())
    }

    fn events(&self, after: Position, limit: u32) -> Pending<'_, Vec<(Position, Event)>> {
        Box::pin(self.event_list(after, limit))
    }

    fn event_span(&self) -> Pending<'_, EventSpan> {
        Box::pin(self.event_bounds())
    }

    fn purge_events(&self, before: Time, limit: u32) -> Pending<'_, u64> {
        Box::pin(self.event_purge(before, limit))
    }

    fn intake(&self) -> Option<&dyn IntakeStore> {
        Some(self)
    }

    fn completing(&self, first: Seq) -> Pending<'_, bool> {
        Box::pin(self.is_completing(first))
    }

    fn source_tables(&self) -> Option<&dyn SourceTables> {
        Some(self)
    }

    fn sync_delivered(&self, delivered: Delivered) -> Pending<'_, ()> {
        Box::pin(self.delivered(delivered))
    }

    fn hint(&self) -> Pending<'_, Hint> {
        Box::pin(self.hints.next())
    }

    fn announce(&self, hints: Vec<Hint>) -> Pending<'_, ()> {
        Box::pin(async move {
            self.hints.announce(hints);
            Ok(())
        })
    }
}
