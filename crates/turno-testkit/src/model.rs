//! The model: a store on the database in memory (`crate::db`).
//!
//! The model has no SQL, no threads, no files and no transactions, and it runs the same decisions as a real store.
//! `agree` sends the same random commands to the model and to a real store and compares every answer. So it checks
//! what the SQL selects and writes against the contract.
//!
//! The model knows leases and queues. Every other call is an error, because no random command sends it.

mod lease;
mod look;
mod queue;

use crate::db::Db;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use turno::clock::Clock;
use turno::core::access::{Epoch, Identity, Link, PaceKeys, PaceStep, PaceVerdict, Person, Token};
use turno::core::audit::{Actor, Draft, Entry, Hash, Head, chain};
use turno::core::destination::Destination;
use turno::core::event::Event;
use turno::core::id::{Fence, ItemId, Key, Lane, Numbers, Once, Position, QueueId, QueueName, Resource, Sku, UserId};
use turno::core::lease::{Ending, State};
use turno::core::queue::{DeliveryRef, Trace, Waited};
use turno::core::task::{Apply, Note, Task, TaskId};
use turno::core::time::Time;
use turno::store::{
    AccessStore, Answer, AnswerStore, AuditQuery, AuditReader, Check, Counts, DestinationStore, Effect, EventSpan,
    EventStore, Finding, Group, Hint, ItemPage, ItemQuery, ItemReader, ItemRecord, LaneFront, LaneLocks, LeaseQuery,
    LeaseReader, LineStep, Outcomes, Past, PauseQueue, Peeked, Pending, Pulse, Purge, PutQueue, QueueRow, QueueStore,
    Routes, SchemaState, Sequenced, StockLevel, Store, StoreError, TaskPage, TaskQuery, TaskReader, TokenFound, Upkeep,
};

/// A store in memory.
pub struct Model {
    clock: Arc<Clock>,
    rows: Mutex<Rows>,
    sweeps: AtomicUsize,
    trouble: Box<MakesTrouble>,
}

/// Picks the groups that meet trouble.
type MakesTrouble = dyn Fn(&Group) -> Option<Trouble> + Send + Sync;

/// A fault that a database can show instead of a normal commit.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// Refuses the group and stores nothing.
    Error(StoreError),
    /// Never answers.
    Stall,
    /// Commits, and answers after the notification.
    Late(Arc<Notify>),
}

/// The whole state of the model.
#[derive(Default)]
struct Rows {
    /// The rows that decisions read and write.
    db: Db,
    history: Vec<(Resource, Ending)>,
    queues: Vec<QueueRow>,
}

impl Model {
    /// Creates an empty store.
    pub fn new(clock: Arc<Clock>) -> Model {
        Model { clock, rows: Mutex::default(), sweeps: AtomicUsize::new(0), trouble: Box::new(|_| None) }
    }

    /// Injects trouble into the groups that `trouble` picks.
    pub fn with_trouble(self, trouble: impl Fn(&Group) -> Option<Trouble> + Send + Sync + 'static) -> Model {
        Model { trouble: Box::new(trouble), ..self }
    }

    /// Returns how often the sweep looked for expired deliveries.
    pub fn sweeps(&self) -> usize {
        self.sweeps.load(Ordering::SeqCst)
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Time {
        self.clock.observe(self.clock.machine())
    }
}

impl Rows {
    fn numbers(&mut self, count: usize) -> Numbers {
        Numbers::new(self.db.numbers(count))
    }

    fn announce(&mut self, events: impl IntoIterator<Item = Event>) {
        events.into_iter().for_each(|event| self.db.stream.push(event));
    }

    /// Adds entries to the audit log and announces them as events.
    fn enter(&mut self, entries: Vec<Entry>) {
        self.db.follow(&entries);
        self.announce(entries.iter().map(Entry::event));
    }

    /// Adds an audit entry for an action of the store itself.
    fn note(&mut self, now: Time, draft: Draft) {
        let entries = chain(&mut self.db.head.clone(), now, vec![draft]);
        self.enter(entries);
    }
}

/// Returns an answer that is already complete.
fn ready<T: Send + 'static>(answer: Result<T, StoreError>) -> Pending<'static, T> {
    Box::pin(std::future::ready(answer))
}

/// Answers a call that is not about leases or queues.
fn unknown<T: Send + 'static>() -> Pending<'static, T> {
    ready(Err(StoreError::Bug("the model knows only leases and queues")))
}

/// Implements methods that are not about leases or queues.
macro_rules! unknown {
    ($($method:ident($($argument:ty),*) -> $answer:ty;)*) => {
        $(fn $method(&self, $(_: $argument),*) -> Pending<'_, $answer> {
            unknown()
        })*
    };
}

impl Store for Model {
    fn describe(&self) -> &str {
        "memory"
    }

    fn routes(&self) -> Routes {
        Routes { merges: true, leases: vec![0], items: vec![0], reserved: 0 }
    }

    fn commit(&self, _route: usize, groups: Arc<[Group]>, as_of: Option<Epoch>) -> Pending<'_, Vec<Outcomes>> {
        let late = match groups.iter().find_map(|group| (self.trouble)(group)) {
            Some(Trouble::Error(error)) => return ready(Err(error)),
            Some(Trouble::Stall) => return Box::pin(std::future::pending()),
            Some(Trouble::Late(late)) => Some(late),
            None => None,
        };
        let now = self.now();
        let mut rows = self.rows();
        if as_of.is_some() || groups.iter().any(|group| matches!(group, Group::Task(_) | Group::Access(_))) {
            return unknown();
        }
        let outcomes = groups.iter().map(|group| match group {
            Group::Lease(group) => rows.lease(group, now),
            Group::Enqueue(group) => rows.enqueue(group, now),
            Group::Claim(group) => rows.claim(group, now),
            Group::Settle(group) => rows.settle(group, now),
            Group::Manage(group) => rows.manage(group, now),
            Group::Clear(group) => rows.clear(group, now),
            Group::Typing(group) => rows.typing(group, now),
            Group::Task(_) | Group::Access(_) => unreachable!("refused above"),
        });
        let outcomes = Ok(outcomes.collect());
        match late {
            None => ready(outcomes),
            Some(late) => Box::pin(async move {
                late.notified().await;
                outcomes
            }),
        }
    }

    fn hint(&self) -> Pending<'_, Hint> {
        Box::pin(std::future::pending())
    }

    fn announce(&self, _hints: Vec<Hint>) -> Pending<'_, ()> {
        ready(Ok(()))
    }

    unknown! {
        apply_line(Apply, Option<Arc<dyn Effect>>) -> LineStep;
    }
}

impl LeaseReader for Model {
    fn peek(&self, resources: Vec<Resource>) -> Pending<'_, Peeked> {
        let rows = self.rows();
        let states = resources.iter().map(|resource| rows.db.lease(resource)).collect();
        ready(Ok(Peeked { now: self.now(), epoch: Epoch::default(), states }))
    }

    fn ending(&self, resource: Resource, fence: Fence) -> Pending<'_, Option<Ending>> {
        let rows = self.rows();
        let found = rows.history.iter().find(|(of, ending)| *of == resource && ending.grant.fence == fence);
        ready(Ok(found.map(|(_, ending)| ending.clone())))
    }

    fn due_leases(&self, limit: u32) -> Pending<'_, (Vec<Resource>, Option<Time>)> {
        ready(Ok(self.rows().db.due_leases(self.now(), limit as usize)))
    }

    unknown! {
        lines(Option<Resource>, u32) -> Vec<State>;
        history(Resource, Past, u32) -> Vec<Ending>;
        leases(LeaseQuery) -> Peeked;
    }
}

impl QueueStore for Model {
    fn put_queue(&self, put: PutQueue, by: Actor) -> Pending<'_, Option<QueueRow>> {
        ready(self.rows().put_queue(&put, by, self.now()))
    }

    fn pause_queue(&self, pause: PauseQueue) -> Pending<'_, ()> {
        ready(self.rows().pause_queue(&pause, self.now()))
    }

    fn queue(&self, name: QueueName) -> Pending<'_, Option<QueueRow>> {
        ready(Ok(self.rows().queues.iter().find(|queue| queue.name == name).cloned()))
    }

    fn queues(&self) -> Pending<'_, Vec<QueueRow>> {
        ready(Ok(self.rows().queues.clone()))
    }
}

impl ItemReader for Model {
    fn expired(&self, limit: u32) -> Pending<'_, (Vec<DeliveryRef>, Option<Time>)> {
        self.sweeps.fetch_add(1, Ordering::SeqCst);
        ready(Ok(self.rows().db.expired(self.now(), limit as usize)))
    }

    fn next_look(&self, queue: QueueId, after: Time) -> Pending<'_, Option<Time>> {
        let rows = self.rows();
        let of = rows.db.hot.values().filter(|item| item.queue == queue).filter_map(|item| item.ready_at);
        ready(Ok(of.filter(|at| *at > after).min()))
    }

    fn settled(&self, reference: Vec<DeliveryRef>) -> Pending<'_, Vec<Trace>> {
        let rows = self.rows();
        ready(Ok(reference.iter().map(|reference| rows.settled(reference)).collect()))
    }

    fn item(&self, queue: QueueId, id: ItemId) -> Pending<'_, Option<ItemRecord>> {
        let now = self.now();
        let rows = self.rows();
        let seq = rows.db.ids.get(&(queue, id));
        ready(Ok(seq.map(|seq| rows.record(&rows.db.bodies[seq], now))))
    }

    fn absorber(&self, queue: QueueId, id: ItemId, key: Key) -> Pending<'_, Option<ItemId>> {
        ready(Ok(self.rows().absorber(queue, id, &key)))
    }

    fn items(&self, queue: QueueId, query: ItemQuery) -> Pending<'_, ItemPage> {
        let now = self.now();
        ready(Ok(self.rows().item_page(queue, &query, now)))
    }

    fn counts(&self, queue: QueueId) -> Pending<'_, Counts> {
        let now = self.now();
        ready(Ok(self.rows().counts(queue, now)))
    }

    fn pulse(&self, queue: QueueId, since: Time) -> Pending<'_, Pulse> {
        let now = self.now();
        ready(Ok(self.rows().pulse(queue, since, now)))
    }

    fn waits(&self, queue: QueueId, since: Time, limit: u32) -> Pending<'_, Vec<Waited>> {
        ready(Ok(self.rows().waits(queue, since, limit as usize)))
    }

    fn lane_front(&self, queue: QueueId, lane: Lane, size: u32) -> Pending<'_, LaneFront> {
        let now = self.now();
        ready(Ok(self.rows().lane_front(queue, lane, size, now)))
    }

    fn lanes(&self, queue: QueueId, after: Option<Lane>, limit: u32) -> Pending<'_, Vec<Lane>> {
        ready(Ok(self.rows().lanes(queue, after, limit)))
    }

    fn lane_locks(&self) -> Pending<'_, LaneLocks> {
        let now = self.now();
        ready(Ok(self.rows().lane_locks(now)))
    }
}

impl DestinationStore for Model {
    fn destination(&self, _queue: QueueId) -> Pending<'_, Option<Destination>> {
        ready(Ok(None))
    }

    fn destinations(&self) -> Pending<'_, Vec<(QueueId, Destination)>> {
        ready(Ok(Vec::new()))
    }

    unknown! {
        put_destination(QueueId, Destination, Option<Event>) -> bool;
    }
}

impl TaskReader for Model {
    unknown! {
        task(TaskId) -> Option<Task>;
        task_look(TaskId) -> TaskPage;
        tasks(TaskQuery) -> TaskPage;
        task_notes(TaskId, i64, u32) -> Vec<(i64, Note)>;
        stock(Sku) -> Option<StockLevel>;
    }
}

impl AccessStore for Model {
    unknown! {
        token(Hash) -> TokenFound;
        link(Hash) -> Option<Link>;
        admins() -> i64;
        epoch() -> Epoch;
        person(UserId) -> Option<Person>;
        person_of(Identity) -> Option<Person>;
        people(Option<UserId>, u32) -> Vec<Person>;
        tokens(Option<UserId>, Option<String>, u32) -> Vec<Token>;
        tokens_expiring(Time, Time) -> i64;
        touch_tokens(Vec<(String, Time)>) -> ();
        renew_session(String, Time) -> bool;
    }

    fn pace_sign_in(&self, _keys: PaceKeys, _step: PaceStep) -> Pending<'_, PaceVerdict> {
        unknown()
    }
}

impl AuditReader for Model {
    unknown! {
        audit(AuditQuery) -> Vec<Entry>;
        audit_head() -> Head;
    }
}

impl AnswerStore for Model {
    unknown! {
        answer(Once) -> Option<(Answer, Time)>;
        keep_answer(Once, Answer, Time, Time) -> Answer;
    }
}

impl EventStore for Model {
    fn sequence(&self) -> Pending<'_, Sequenced> {
        ready(Ok(Sequenced::AtCommit))
    }

    fn events(&self, after: Position, limit: u32) -> Pending<'_, Vec<(Position, Event)>> {
        let found = self.rows().db.stream.behind(after, limit as usize);
        ready(Ok(found.into_iter().map(|placed| (placed.position, (*placed.event).clone())).collect()))
    }

    fn event_span(&self) -> Pending<'_, EventSpan> {
        ready(Ok(self.rows().db.stream.span()))
    }

    unknown! {
        purge_events(Time, u32) -> u64;
    }
}

impl Upkeep for Model {
    fn schema(&self) -> Pending<'_, SchemaState> {
        ready(Ok(SchemaState { found: 1, wanted: 1, compatible: true }))
    }

    unknown! {
        count_purgeable(QueueId, Time) -> u64;
        purge(Purge, Time, u32) -> u64;
        purge_leases(Option<Resource>, Time, u32) -> (u64, Option<Resource>);
        check(Check, u32) -> Vec<Finding>;
        backup(std::path::PathBuf) -> ();
    }
}
