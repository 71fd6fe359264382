//! PostgreSQL.
//!
//! A group is one transaction in at most two pipelined trips (three where the second read depends on the
//! first): begin, locks, reads and, last, the clock; then the decision; then writes and commit. Each route has
//! a connection of its own, and so have heartbeats and hints; nothing here is a pool, and nothing of a session
//! is relied on between two transactions.
//!
//! | file | what |
//! |---|---|
//! | `call`, `link`, `slot`, `failure` | statements, a connection, its place, and what can go wrong |
//! | `tx`, `commit` | a group's transaction, and making sure of its outcome |
//! | `lease`, `enqueue`, `claim`, `settle`, `manage` | what each kind of group locks and reads |
//! | `changes` | what groups write |
//! | `intake` | taking in what applications left in transactions of their own |
//! | `floor`, `expiry`, `lane` | where to begin looking, past what is dead |
//! | `read`, `queue`, `event` | everything outside of groups; positions of events |
//! | `row`, `lease_row` | columns and what they become |
//! | `hint`, `migrate` | telling other processes; the schema |
//!
//! Left out on purpose: rules (they are the core's), retries of conflicts (the engine's), TLS (with the server).

mod call;
mod changes;
mod claim;
mod commit;
mod enqueue;
mod event;
mod expiry;
mod failure;
mod floor;
mod hint;
mod intake;
mod lane;
mod lease;
mod lease_row;
mod link;
mod manage;
mod migrate;
mod queue;
mod read;
mod row;
mod settle;
mod slot;
#[cfg(test)]
mod tests;
mod tx;

use crate::clock::Clock;
use crate::store::{
    AuditQuery, Counts, Effect, EventSpan, Group, Hint, ItemRecord, LeaseQuery, LineStep, Outcomes, Peeked, Pending,
    Purge, QueueRow, Routes, Sequenced, StockLevel, Store, StoreError, TaskQuery, TokenFound,
};
use event::Sequencer;
use expiry::Expiry;
use floor::Floors;
use hint::Hints;
use intake::Intake;
use lane::Lanes;
use link::Address;
use slot::Slot;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use tokio_postgres::config::Host;
use turno_core::access::{Epoch, Person, Token};
use turno_core::audit::{Actor, Entry, Hash, Head};
use turno_core::event::Event;
use turno_core::id::{Fence, ItemId, Position, QueueId, QueueName, Resource, Seq, Sku, UserId};
use turno_core::lease::Ending;
use turno_core::queue::{Handed, Policy, SettleOutcome};
use turno_core::task::{Apply, Note, Task, TaskId};
use turno_core::time::Time;

/// Connections for claims of leases, then for items, then the reserved one.
const ROUTES: usize = 5;
/// Connections for heartbeats, which are read without a group.
const PEEKERS: usize = 2;
/// Connections for reads outside of groups.
const READERS: usize = 2;

/// A PostgreSQL database that remembers.
pub(crate) struct PostgresStore {
    description: String,
    address: Address,
    shared: Shared,
    expiry: Expiry,
    routes: [Slot; ROUTES],
    readers: [Slot; READERS],
    peekers: [Slot; PEEKERS],
    sequencer: Sequencer,
    intake: Intake,
    hints: Hints,
}

/// What the groups' transactions share: the guarded clock, and memories of where to look.
struct Shared {
    clock: Arc<Clock>,
    floors: Floors,
    lanes: Lanes,
    /// The highest time this process has recorded, in milliseconds.
    marked: AtomicI64,
}

impl PostgresStore {
    /// Connects, brings the schema up to date, and takes up the clock where others left it.
    pub(crate) async fn open(url: &str, clock: Arc<Clock>) -> Result<PostgresStore, StoreError> {
        let address = Address::parse(url)?;
        let mut link = address.connect().await?;
        migrate::migrate(&mut link).await?;
        let description = format!("PostgreSQL {}, {}", link.version, place(&address));
        let floors = Floors::default();
        let hints = Hints::new(address.clone(), floors.clone());
        let shared = Shared { clock, floors, lanes: Lanes::default(), marked: AtomicI64::new(i64::MIN) };
        let store = PostgresStore {
            description,
            address,
            shared,
            expiry: Expiry::new(),
            routes: Default::default(),
            readers: Default::default(),
            peekers: Default::default(),
            sequencer: Sequencer::default(),
            intake: Intake::default(),
            hints,
        };
        store.resume().await?;
        Ok(store)
    }

    async fn resume(&self) -> Result<(), StoreError> {
        Ok(self.now().await.map(drop)?)
    }
}

/// Host and database, without anything secret.
fn place(address: &Address) -> String {
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

    fn commit(&self, route: usize, groups: Arc<[Group]>, _as_of: Option<Epoch>) -> Pending<'_, Vec<Outcomes>> {
        Box::pin(async move {
            match &*groups {
                [group] => Ok(vec![self.commit_one(route, group).await?]),
                [] => Ok(Vec::new()),
                _ => Err(StoreError::Rejected("this store takes one group at a time".into())),
            }
        })
    }

    fn peek(&self, resources: Vec<Resource>) -> Pending<'_, Peeked> {
        Box::pin(self.lease_peek(resources))
    }

    fn ending(&self, resource: Resource, fence: Fence) -> Pending<'_, Option<Ending>> {
        Box::pin(async move { self.lease_ending(&resource, fence).await })
    }

    fn history(&self, resource: Resource, limit: u32) -> Pending<'_, Vec<Ending>> {
        Box::pin(async move { self.lease_history(&resource, limit).await })
    }

    fn put_queue(&self, name: QueueName, policy: Policy, _by: Actor) -> Pending<'_, QueueRow> {
        Box::pin(async move { self.queue_put(&name, &policy).await })
    }

    fn pause_queue(&self, queue: QueueId, paused: bool, _by: Actor) -> Pending<'_, ()> {
        Box::pin(self.queue_pause(queue, paused))
    }

    fn queue(&self, name: QueueName) -> Pending<'_, Option<QueueRow>> {
        Box::pin(async move { self.queue_get(&name).await })
    }

    fn queues(&self) -> Pending<'_, Vec<QueueRow>> {
        Box::pin(self.queue_list())
    }

    fn expired(&self, limit: u32) -> Pending<'_, (Vec<Handed>, Option<Time>)> {
        Box::pin(self.items_expired(limit))
    }

    fn next_look(&self, queue: QueueId, after: Time) -> Pending<'_, Option<Time>> {
        Box::pin(self.queue_next_look(queue, after))
    }

    fn settled(&self, handed: Vec<Handed>) -> Pending<'_, Vec<Option<SettleOutcome>>> {
        Box::pin(self.items_settled(handed))
    }

    fn item(&self, queue: QueueId, id: ItemId) -> Pending<'_, Option<ItemRecord>> {
        Box::pin(async move { self.item_get(queue, &id).await })
    }

    fn items(&self, queue: QueueId, after: Seq, limit: u32) -> Pending<'_, Vec<ItemRecord>> {
        Box::pin(self.item_list(queue, after, limit))
    }

    fn counts(&self, queue: QueueId) -> Pending<'_, Counts> {
        Box::pin(self.queue_counts(queue))
    }

    fn leases(&self, _query: LeaseQuery) -> Pending<'_, Peeked> {
        unbuilt()
    }

    fn apply_line(&self, _apply: Apply, _effect: Option<Arc<dyn Effect>>) -> Pending<'_, LineStep> {
        unbuilt()
    }

    fn task(&self, _id: TaskId) -> Pending<'_, Option<Task>> {
        unbuilt()
    }

    fn tasks(&self, _query: TaskQuery) -> Pending<'_, Vec<Task>> {
        unbuilt()
    }

    fn task_notes(&self, _id: TaskId, _limit: u32) -> Pending<'_, Vec<Note>> {
        unbuilt()
    }

    fn stock(&self, _sku: Sku) -> Pending<'_, Option<StockLevel>> {
        unbuilt()
    }

    fn token(&self, _hash: Hash) -> Pending<'_, TokenFound> {
        unbuilt()
    }

    fn epoch(&self) -> Pending<'_, Epoch> {
        unbuilt()
    }

    fn person(&self, _id: UserId) -> Pending<'_, Option<Person>> {
        unbuilt()
    }

    fn people(&self, _after: Option<UserId>, _limit: u32) -> Pending<'_, Vec<Person>> {
        unbuilt()
    }

    fn tokens(&self, _user: Option<UserId>, _after: Option<String>, _limit: u32) -> Pending<'_, Vec<Token>> {
        unbuilt()
    }

    fn touch_tokens(&self, _used: Vec<(String, Time)>) -> Pending<'_, ()> {
        unbuilt()
    }

    fn audit(&self, _query: AuditQuery) -> Pending<'_, Vec<Entry>> {
        unbuilt()
    }

    fn audit_head(&self) -> Pending<'_, Head> {
        unbuilt()
    }

    fn purge(&self, _what: Purge, _limit: u32) -> Pending<'_, u64> {
        unbuilt()
    }

    fn backup(&self, _to: std::path::PathBuf) -> Pending<'_, ()> {
        unbuilt()
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

    fn has_intake(&self) -> bool {
        true
    }

    fn fold(&self) -> Pending<'_, Vec<QueueId>> {
        Box::pin(self.take_in())
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

/// For what is still to come.
fn unbuilt<'a, T: Send + 'a>() -> Pending<'a, T> {
    Box::pin(std::future::ready(Err(StoreError::Rejected("not built yet".into()))))
}
