//! The model: a store that is nothing but maps in memory.
//!
//! It has no SQL, no threads, no files and no transactions to get wrong, and it runs the same decisions. The
//! same random commands are given to it and to a real store, and every answer must agree: what the SQL
//! chooses, finds and writes is thereby compared with what the contract says.

mod queue;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use turno::clock::Clock;
use turno::core::access::{Epoch, Person, Token};
use turno::core::audit::{Actor, Entry, Hash, Head};
use turno::core::event::Event;
use turno::core::id::{Fence, ItemId, Lane, Numbers, Position, QueueId, QueueName, Resource, Seq, Sku, UserId};
use turno::core::lease::{Ending, State};
use turno::core::queue::{AttemptError, Body, Done, Handed, Item, Policy, SettleOutcome, Trace, Unfinished};
use turno::core::task::{Apply, Note, Task, TaskId};
use turno::core::time::Time;
use turno::store::{
    AuditQuery, Counts, Effect, EventSpan, Group, Hint, ItemRecord, LeaseQuery, LeaseRead, LineStep, Outcomes, Peeked,
    Pending, Purge, QueueRow, Routes, Sequenced, StockLevel, Store, StoreError, TaskQuery, TokenFound,
};

/// A store in memory.
pub struct Model {
    clock: Arc<Clock>,
    rows: Mutex<Rows>,
    sweeps: AtomicUsize,
    trouble: Box<MakesTrouble>,
}

/// Picks the groups that are in for trouble.
type MakesTrouble = dyn Fn(&Group) -> Option<Trouble> + Send + Sync;

/// What a database may do instead of committing.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// It says so; nothing is stored.
    Error(StoreError),
    /// It never answers.
    Stall,
    /// It commits, and answers when it is told to.
    Late(Arc<Notify>),
}

/// Everything that is remembered.
#[derive(Default)]
struct Rows {
    number: i64,
    leases: HashMap<Resource, State>,
    history: Vec<(Resource, Ending)>,
    queues: Vec<QueueRow>,
    hot: BTreeMap<Seq, Item>,
    bodies: BTreeMap<Seq, Body>,
    done: BTreeMap<Seq, Done>,
    errors: Vec<AttemptError>,
    typing: HashMap<(QueueId, Lane), Time>,
    /// The events that are kept; the position of the first is one more than were purged.
    events: Vec<Event>,
    purged: usize,
}

impl Model {
    /// An empty store.
    pub fn new(clock: Arc<Clock>) -> Model {
        Model { clock, rows: Mutex::default(), sweeps: AtomicUsize::new(0), trouble: Box::new(|_| None) }
    }

    /// Makes trouble for the groups that `trouble` picks.
    pub fn with_trouble(self, trouble: impl Fn(&Group) -> Option<Trouble> + Send + Sync + 'static) -> Model {
        Model { trouble: Box::new(trouble), ..self }
    }

    /// How often expired hand-outs were looked for.
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
        let from = self.number;
        self.number += count as i64;
        Numbers::new((from + 1..=self.number).collect())
    }

    fn lane(&self, queue: QueueId, lane: Lane) -> impl Iterator<Item = &Item> {
        self.hot.values().filter(move |item| item.queue == queue && item.lane == Some(lane))
    }

    fn record(&self, body: &Body) -> ItemRecord {
        let errors = self.errors.iter().filter(|error| error.seq == body.seq).cloned().collect();
        let (item, done) = (self.hot.get(&body.seq).cloned(), self.done.get(&body.seq).cloned());
        ItemRecord { body: body.clone(), item, done, errors }
    }

    fn lease(&mut self, group: &turno::store::LeaseGroup, now: Time) -> Outcomes {
        let states = group.resources().into_iter().map(|resource| self.state(&resource)).collect();
        let numbers = self.numbers(group.numbers());
        let (write, answers) = group.decide(LeaseRead { now, numbers, states, head: None });
        self.history.extend(write.ended_of.into_iter().zip(write.ended));
        self.events.extend(write.events);
        self.leases.extend(write.states.into_iter().map(|state| (state.resource.clone(), state)));
        Outcomes::Lease { now, answers }
    }

    fn state(&self, resource: &Resource) -> State {
        self.leases.get(resource).cloned().unwrap_or_else(|| State::unseen(resource.clone()))
    }

    fn settled(&self, handed: &Handed) -> Option<SettleOutcome> {
        let errors: Vec<AttemptError> = self.errors.iter().filter(|error| error.seq == handed.seq).cloned().collect();
        Trace::of(handed.fence, self.hot.get(&handed.seq), self.done.get(&handed.seq), &errors).settled()
    }

    fn counts(&self, queue: QueueId, now: Time) -> Counts {
        use turno::core::queue::Ended;
        let mut counts = Counts::default();
        for item in self.hot.values().filter(|item| item.queue == queue) {
            let state = match item.state(now) {
                Unfinished::Pending => &mut counts.pending,
                Unfinished::InProcess => &mut counts.in_process,
                Unfinished::Error => &mut counts.error,
                Unfinished::Exhausted => &mut counts.exhausted,
            };
            *state += 1;
        }
        for done in self.done.values().filter(|done| done.queue == queue) {
            let state = match done.ended {
                Ended::Processed => &mut counts.processed,
                Ended::Exhausted => &mut counts.exhausted,
                Ended::Cancelled => &mut counts.cancelled,
            };
            *state += 1;
        }
        counts
    }
}

/// An answer that is there already.
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

    fn commit(&self, _route: usize, groups: Arc<[Group]>, _as_of: Option<Epoch>) -> Pending<'_, Vec<Outcomes>> {
        let told = match groups.iter().find_map(|group| (self.trouble)(group)) {
            Some(Trouble::Error(error)) => return ready(Err(error)),
            Some(Trouble::Stall) => return Box::pin(std::future::pending()),
            Some(Trouble::Late(told)) => Some(told),
            None => None,
        };
        let now = self.now();
        let mut rows = self.rows();
        let outcomes = groups.iter().map(|group| match group {
            Group::Lease(group) => Ok(rows.lease(group, now)),
            Group::Enqueue(group) => Ok(rows.enqueue(group, now)),
            Group::Claim(group) => Ok(rows.claim(group, now)),
            Group::Settle(group) => Ok(rows.settle(group, now)),
            Group::Manage(group) => Ok(rows.manage(group, now)),
            Group::Typing(group) => Ok(rows.typing(group, now)),
            Group::Task(_) | Group::Access(_) => Err(StoreError::Rejected("not built yet".into())),
        });
        let outcomes = outcomes.collect();
        match told {
            None => ready(outcomes),
            Some(told) => Box::pin(async move {
                told.notified().await;
                outcomes
            }),
        }
    }

    fn peek(&self, resources: Vec<Resource>) -> Pending<'_, Peeked> {
        let rows = self.rows();
        let states = resources.iter().map(|resource| rows.state(resource)).collect();
        ready(Ok(Peeked { now: self.now(), epoch: Epoch(0), states }))
    }

    fn ending(&self, resource: Resource, fence: Fence) -> Pending<'_, Option<Ending>> {
        let rows = self.rows();
        let found = rows.history.iter().find(|(of, ending)| *of == resource && ending.grant.fence == fence);
        ready(Ok(found.map(|(_, ending)| ending.clone())))
    }

    fn history(&self, resource: Resource, limit: u32) -> Pending<'_, Vec<Ending>> {
        let rows = self.rows();
        let of = rows.history.iter().rev().filter(|(of, _)| *of == resource);
        ready(Ok(of.take(limit as usize).map(|(_, ending)| ending.clone()).collect()))
    }

    fn put_queue(&self, name: QueueName, policy: Policy, _by: Actor) -> Pending<'_, QueueRow> {
        let mut rows = self.rows();
        let id = QueueId(rows.queues.len() as i32 + 1);
        match rows.queues.iter_mut().find(|queue| queue.name == name) {
            Some(queue) => {
                queue.version += i64::from(queue.policy != policy);
                queue.policy = policy;
                ready(Ok(queue.clone()))
            }
            None => {
                let row = QueueRow { id, name, policy, version: 1, paused: false, purged: 0 };
                rows.queues.push(row.clone());
                ready(Ok(row))
            }
        }
    }

    fn pause_queue(&self, queue: QueueId, paused: bool, _by: Actor) -> Pending<'_, ()> {
        for row in self.rows().queues.iter_mut().filter(|row| row.id == queue) {
            row.paused = paused;
        }
        ready(Ok(()))
    }

    fn queue(&self, name: QueueName) -> Pending<'_, Option<QueueRow>> {
        ready(Ok(self.rows().queues.iter().find(|queue| queue.name == name).cloned()))
    }

    fn queues(&self) -> Pending<'_, Vec<QueueRow>> {
        ready(Ok(self.rows().queues.clone()))
    }

    fn expired(&self, limit: u32) -> Pending<'_, (Vec<Handed>, Option<Time>)> {
        self.sweeps.fetch_add(1, Ordering::SeqCst);
        let now = self.now();
        let rows = self.rows();
        let mut handed: Vec<(Time, Handed)> = Vec::new();
        let mut next: Option<Time> = None;
        for item in rows.hot.values() {
            let Some(at) = item.expires_at else { continue };
            if now < at {
                next = Some(next.map_or(at, |next| next.min(at)));
            } else if let Some((_, known)) = handed.iter_mut().find(|(_, known)| known.fence == item.fence) {
                known.size += 1;
            } else {
                let (queue, seq, lane, fence) = (item.queue, item.seq, item.lane, item.fence);
                handed.push((at, Handed { queue, seq, lane, size: 1, fence }));
            }
        }
        handed.sort_by_key(|(at, handed)| (*at, handed.seq));
        ready(Ok((handed.into_iter().take(limit as usize).map(|(_, handed)| handed).collect(), next)))
    }

    fn next_look(&self, queue: QueueId, after: Time) -> Pending<'_, Option<Time>> {
        let rows = self.rows();
        let of = rows.hot.values().filter(|item| item.queue == queue).filter_map(|item| item.ready_at);
        ready(Ok(of.filter(|at| *at > after).min()))
    }

    fn settled(&self, handed: Vec<Handed>) -> Pending<'_, Vec<Option<SettleOutcome>>> {
        let rows = self.rows();
        ready(Ok(handed.iter().map(|handed| rows.settled(handed)).collect()))
    }

    fn item(&self, queue: QueueId, id: ItemId) -> Pending<'_, Option<ItemRecord>> {
        let rows = self.rows();
        let body = rows.bodies.values().find(|body| body.queue == queue && body.id == id);
        ready(Ok(body.map(|body| rows.record(body))))
    }

    fn items(&self, queue: QueueId, after: Seq, limit: u32) -> Pending<'_, Vec<ItemRecord>> {
        let rows = self.rows();
        let of = rows.bodies.values().filter(|body| body.queue == queue && body.seq > after);
        ready(Ok(of.take(limit as usize).map(|body| rows.record(body)).collect()))
    }

    fn counts(&self, queue: QueueId) -> Pending<'_, Counts> {
        let now = self.now();
        ready(Ok(self.rows().counts(queue, now)))
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
        ready(Ok(Sequenced::AtCommit))
    }

    fn events(&self, after: Position, limit: u32) -> Pending<'_, Vec<(Position, Event)>> {
        let rows = self.rows();
        let all = (rows.purged as i64 + 1..).map(Position).zip(rows.events.iter().cloned());
        ready(Ok(all.filter(|(position, _)| *position > after).take(limit as usize).collect()))
    }

    fn event_span(&self) -> Pending<'_, EventSpan> {
        let rows = self.rows();
        let oldest = Position(rows.purged as i64 + 1);
        ready(Ok(EventSpan { oldest, newest: Position((rows.purged + rows.events.len()) as i64) }))
    }

    fn purge_events(&self, before: Time, limit: u32) -> Pending<'_, u64> {
        let mut rows = self.rows();
        let old = rows.events.iter().take(limit as usize).take_while(|event| event.at < before).count();
        rows.events.drain(..old);
        rows.purged += old;
        ready(Ok(old as u64))
    }

    fn hint(&self) -> Pending<'_, Hint> {
        Box::pin(std::future::pending())
    }

    fn announce(&self, _hints: Vec<Hint>) -> Pending<'_, ()> {
        ready(Ok(()))
    }
}

/// For what is still to come.
fn unbuilt<'a, T: Send + 'a>() -> Pending<'a, T> {
    Box::pin(std::future::ready(Err(StoreError::Rejected("not built yet".into()))))
}
