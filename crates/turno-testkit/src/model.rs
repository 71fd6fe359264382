//! The model: a store on the database in memory (`crate::db`).
//!
//! The model has no SQL, no threads, no files and no transactions, and it runs the same decisions as a real store.
//! `agree` sends the same random commands to the model and to a real store and compares every answer. So it checks
//! what the SQL selects and writes against the contract.

mod access;
mod lease;
mod look;
mod queue;
mod task;

use crate::db::Db;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use turno::clock::Clock;
use turno::core::access::{Epoch, Link, Person, Token};
use turno::core::audit::{Actor, Entry, Hash, Head};
use turno::core::destination::Destination;
use turno::core::event::Event;
use turno::core::id::{Fence, ItemId, Key, Lane, Numbers, Once, Position, QueueId, QueueName, Resource, Sku, UserId};
use turno::core::lease::{Ending, State};
use turno::core::queue::{DeliveryRef, Done, Ended, SettleOutcome, Waited};
use turno::core::task::{Apply, LineError, Note, Task, TaskId};
use turno::core::text::clip_text;
use turno::core::time::Time;
use turno::store::{
    AccessStore, Answer, AnswerStore, AuditQuery, AuditReader, Check, Counts, DestinationStore, Effect, EffectError,
    EventSpan, EventStore, Finding, Group, Hint, ItemQuery, ItemReader, ItemRecord, LaneFront, LaneLocks, LeaseQuery,
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
    destinations: BTreeMap<QueueId, Destination>,
    access: access::Access,
    task_ids: HashMap<Once, TaskId>,
    notes: Vec<(TaskId, Note)>,
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
        self.access.audit.extend(entries);
    }
}

/// Returns an answer that is already complete.
fn ready<T: Send + 'static>(answer: Result<T, StoreError>) -> Pending<'static, T> {
    Box::pin(std::future::ready(answer))
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
        if as_of.is_some_and(|as_of| as_of != rows.access.epoch) {
            return ready(Err(StoreError::AccessChanged));
        }
        let outcomes = groups.iter().map(|group| match group {
            Group::Lease(group) => rows.lease(group, now),
            Group::Enqueue(group) => rows.enqueue(group, now),
            Group::Claim(group) => rows.claim(group, now),
            Group::Settle(group) => rows.settle(group, now),
            Group::Manage(group) => rows.manage(group, now),
            Group::Clear(group) => rows.clear(group, now),
            Group::Typing(group) => rows.typing(group, now),
            Group::Task(group) => rows.task(group, now),
            Group::Access(group) => rows.change_access(group, now),
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

    fn apply_line(&self, apply: Apply, effect: Option<Arc<dyn Effect>>) -> Pending<'_, LineStep> {
        Box::pin(async move {
            let begun = self.rows().begin_line(&apply, self.now());
            let going = match begun {
                Ok(going) => going,
                Err(step) => return Ok(step),
            };
            let done = match effect {
                None => self.rows().post(&going.line),
                Some(effect) => match effect.apply(&going, &mut task::NoSql).await {
                    Ok(()) => Ok(()),
                    Err(EffectError::Refused(message)) => Err(LineError::Refused { message: clip_text(&message) }),
                    Err(EffectError::Store(error)) => return Err(error),
                },
            };
            Ok(self.rows().end_line(&apply, going, done, self.now()))
        })
    }

    fn hint(&self) -> Pending<'_, Hint> {
        Box::pin(std::future::pending())
    }

    fn announce(&self, _hints: Vec<Hint>) -> Pending<'_, ()> {
        ready(Ok(()))
    }
}

impl LeaseReader for Model {
    fn peek(&self, resources: Vec<Resource>) -> Pending<'_, Peeked> {
        let rows = self.rows();
        let states = resources.iter().map(|resource| rows.db.lease(resource)).collect();
        ready(Ok(Peeked { now: self.now(), epoch: rows.access.epoch, states }))
    }

    fn lines(&self, after: Option<Resource>, limit: u32) -> Pending<'_, Vec<State>> {
        ready(Ok(self.rows().lines(after.as_ref(), limit as usize)))
    }

    fn ending(&self, resource: Resource, fence: Fence) -> Pending<'_, Option<Ending>> {
        let rows = self.rows();
        let found = rows.history.iter().find(|(of, ending)| *of == resource && ending.grant.fence == fence);
        ready(Ok(found.map(|(_, ending)| ending.clone())))
    }

    fn history(&self, resource: Resource, from: Past, limit: u32) -> Pending<'_, Vec<Ending>> {
        ready(Ok(self.rows().past(&resource, from, limit as usize)))
    }

    fn due_leases(&self, limit: u32) -> Pending<'_, (Vec<Resource>, Option<Time>)> {
        ready(Ok(self.rows().db.due_leases(self.now(), limit as usize)))
    }

    fn leases(&self, query: LeaseQuery) -> Pending<'_, Peeked> {
        let rows = self.rows();
        ready(Ok(Peeked { now: self.now(), epoch: rows.access.epoch, states: rows.leases(&query) }))
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

    fn settled(&self, reference: Vec<DeliveryRef>) -> Pending<'_, Vec<Option<SettleOutcome>>> {
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

    fn items(&self, queue: QueueId, query: ItemQuery) -> Pending<'_, Vec<ItemRecord>> {
        let now = self.now();
        ready(Ok(self.rows().items(queue, &query, now)))
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
    fn destination(&self, queue: QueueId) -> Pending<'_, Option<Destination>> {
        ready(Ok(self.rows().destinations.get(&queue).cloned()))
    }

    fn destinations(&self) -> Pending<'_, Vec<(QueueId, Destination)>> {
        let rows = self.rows();
        let ill = rows.destinations.iter().filter(|(_, destination)| !destination.is_well());
        ready(Ok(ill.map(|(queue, destination)| (*queue, destination.clone())).collect()))
    }

    fn put_destination(&self, queue: QueueId, destination: Destination, news: Option<Event>) -> Pending<'_, bool> {
        let mut rows = self.rows();
        let fits = rows.destinations.get(&queue).is_none_or(|known| known.version == destination.version - 1);
        if fits {
            rows.destinations.insert(queue, destination);
            rows.announce(news);
        }
        ready(Ok(fits))
    }
}

impl TaskReader for Model {
    fn task(&self, id: TaskId) -> Pending<'_, Option<Task>> {
        ready(Ok(self.rows().find_task(id)))
    }

    fn task_look(&self, id: TaskId) -> Pending<'_, TaskPage> {
        ready(Ok(self.rows().look(id, self.now())))
    }

    fn tasks(&self, query: TaskQuery) -> Pending<'_, TaskPage> {
        ready(Ok(self.rows().tasks(&query, self.now())))
    }

    fn task_notes(&self, id: TaskId, after: i64, limit: u32) -> Pending<'_, Vec<(i64, Note)>> {
        ready(Ok(self.rows().task_notes(id, after, limit)))
    }

    fn stock(&self, sku: Sku) -> Pending<'_, Option<StockLevel>> {
        ready(Ok(self.rows().stock_level(sku)))
    }
}

impl AccessStore for Model {
    fn token(&self, hash: Hash) -> Pending<'_, TokenFound> {
        let now = self.now();
        ready(Ok(self.rows().token(hash, now)))
    }

    fn link(&self, hash: Hash) -> Pending<'_, Option<Link>> {
        ready(Ok(self.rows().access.links.get(&hash).cloned()))
    }

    fn admins(&self) -> Pending<'_, i64> {
        ready(Ok(self.rows().access.admins()))
    }

    fn epoch(&self) -> Pending<'_, Epoch> {
        ready(Ok(self.rows().access.epoch))
    }

    fn person(&self, id: UserId) -> Pending<'_, Option<Person>> {
        ready(Ok(self.rows().access.people.get(&id).cloned()))
    }

    fn people(&self, after: Option<UserId>, limit: u32) -> Pending<'_, Vec<Person>> {
        ready(Ok(self.rows().people(after.as_ref(), limit)))
    }

    fn tokens(&self, user: Option<UserId>, after: Option<String>, limit: u32) -> Pending<'_, Vec<Token>> {
        ready(Ok(self.rows().tokens(user.as_ref(), after.as_deref(), limit)))
    }

    fn touch_tokens(&self, used: Vec<(String, Time)>) -> Pending<'_, ()> {
        self.rows().touch_tokens(used);
        ready(Ok(()))
    }

    fn renew_session(&self, id: String, until: Time) -> Pending<'_, bool> {
        ready(Ok(self.rows().renew_session(&id, until)))
    }
}

impl AuditReader for Model {
    fn audit(&self, query: AuditQuery) -> Pending<'_, Vec<Entry>> {
        ready(Ok(self.rows().audit(&query)))
    }

    fn audit_head(&self) -> Pending<'_, Head> {
        ready(Ok(self.rows().db.head))
    }
}

impl AnswerStore for Model {
    fn answer(&self, of: Once) -> Pending<'_, Option<(Answer, Time)>> {
        ready(Ok(self.rows().access.answers.get(&of).cloned()))
    }

    fn keep_answer(&self, of: Once, answer: Answer, at: Time, lapsed: Time) -> Pending<'_, Answer> {
        ready(Ok(self.rows().access.keep_answer(of, answer, at, lapsed)))
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

    fn purge_events(&self, before: Time, limit: u32) -> Pending<'_, u64> {
        let mut rows = self.rows();
        let old = rows.db.stream.count_old(before, limit as usize);
        rows.db.stream.purge(old);
        ready(Ok(old as u64))
    }
}

impl Upkeep for Model {
    fn count_purgeable(&self, queue: QueueId, before: Time) -> Pending<'_, u64> {
        let rows = self.rows();
        let old = |done: &&Done| done.queue == queue && done.at < before && done.ended != Ended::Exhausted;
        ready(Ok(rows.db.done.values().filter(old).count() as u64))
    }

    fn schema(&self) -> Pending<'_, SchemaState> {
        ready(Ok(SchemaState { found: 1, wanted: 1, compatible: true }))
    }

    fn purge(&self, what: Purge, limit: u32) -> Pending<'_, u64> {
        let now = self.now();
        ready(self.rows().purge(what, limit, now))
    }

    fn purge_leases(&self, after: Option<Resource>, before: Time, limit: u32) -> Pending<'_, (u64, Option<Resource>)> {
        ready(Ok(self.rows().purge_leases(after.as_ref(), before, limit as usize)))
    }

    fn check(&self, _check: Check, _limit: u32) -> Pending<'_, Vec<Finding>> {
        ready(Err(StoreError::Rejected("what is only in memory is checked by the simulator".into())))
    }

    fn backup(&self, _to: std::path::PathBuf) -> Pending<'_, ()> {
        ready(Err(StoreError::Rejected("what is only in memory has no copy".into())))
    }
}
