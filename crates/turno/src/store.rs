//! The contract between the engine and a database.
//!
//! A [`Store`] runs *groups*: commands that arrived together and are decided together, in one transaction. For every
//! group a store takes the same four steps:
//!
//! 1. Lock and read every row that the group names. Missing rows are inserted first, so that they can be locked too.
//! 2. Only then read the clock and the recorded mark, pass both through [`Clock::resume`](crate::clock::Clock::resume)
//!    and [`Clock::observe`](crate::clock::Clock::observe), and take fresh numbers from the one sequence.
//! 3. Ask the group for its decision, which is a pure function of what was read.
//! 4. Write the changes, raise the mark if it lags, read the bodies of the items handed out, commit.
//!
//! A store contains no rules. SQL chooses due heads with `SKIP LOCKED` and finds rows by seq and fence; everything else
//! is decided in `turno_core`. The implementations are in `stores`; the simulator has its own.

mod access;
mod answer;
mod check;
mod event;
mod fault;
mod intake;
mod item;
mod lease;
mod manage;
mod purge;
mod queue;
mod repair;
mod schema;
mod sync;
mod task;

pub use access::{AccessGroup, AccessOutcome, AccessRead, AccessWrite, AuditQuery, TokenFound};
pub use answer::Answer;
pub use check::{Check, Damaged, Finding};
pub use event::{EventSpan, Sequenced};
pub use fault::{FileFault, StoreError};
pub use intake::{IntakeCaller, IntakeSlice, IntakeStore};
pub use item::{Counts, HandOut, ItemQuery, ItemRecord, LaneFront, LaneLocks, Pulse};
pub use lease::{LeaseGroup, LeaseRead, LeaseWrite};
pub use manage::{ClearGroup, ManageGroup, ManageOutcome};
pub use purge::Purge;
pub use queue::{
    Bodies, Claim, ClaimGroup, ClaimOutcome, EnqueueGroup, Outlived, PauseQueue, Push, PushChange, PutChange,
    PutDecision, PutQueue, QueueRow, SettleGroup, SettleRead, TypingGroup, purge_entry,
};
pub use repair::{Found, RepairGroup, RepairOutcome};
pub use schema::SchemaState;
pub use sync::{Delivered, Part, PartState, SourceLook, SourceTables, Sourced, Walk};
pub use task::{
    Dialect, Effect, EffectError, EffectFuture, LineStep, LineToApply, StockLevel, TaskGroup, TaskOutcome, TaskPage,
    TaskQuery, TaskRead, TaskWrite, Tx, Value,
};

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use turno_core::access::{Epoch, Link, Person, Token};
use turno_core::audit::{Actor, Entry, Hash, Head};
use turno_core::destination::Destination;
use turno_core::event::Event;
use turno_core::id::{Fence, ItemId, Key, Lane, Once, Position, QueueId, QueueName, Resource, Seq, Sku, UserId};
use turno_core::lease::{Decision, Ending, State};
use turno_core::queue::{Accepted, Cleared, DeliveryRef, SettleOutcome, Waited};
use turno_core::task::{Apply, Note, Task, TaskId};
use turno_core::time::Time;

/// A future with a store's answer.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Commands of one kind that are decided together.
#[derive(Clone, Debug)]
pub enum Group {
    /// Lease commands.
    Lease(LeaseGroup),
    /// Items to admit.
    Enqueue(EnqueueGroup),
    /// Claims on one queue.
    Claim(ClaimGroup),
    /// Deliveries to settle.
    Settle(SettleGroup),
    /// A management command on one item, such as a retry or a cancellation.
    Manage(ManageGroup),
    /// The clearing of one lane.
    Clear(ClearGroup),
    /// Typing signals.
    Typing(TypingGroup),
    /// A task command.
    Task(Box<TaskGroup>),
    /// A change of people, tokens or links.
    Access(Box<AccessGroup>),
}

/// The decisions of a group, one per command and in the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcomes {
    /// For [`Group::Lease`]: the decision and the state after it, as of `now`.
    Lease {
        /// The time the decisions were made with.
        now: Time,
        /// One per command.
        answers: Vec<(Decision, State)>,
    },
    /// For [`Group::Enqueue`]: one list per call, one entry per item.
    Enqueue(Vec<Vec<Accepted>>),
    /// For [`Group::Claim`].
    Claim(ClaimOutcome),
    /// For [`Group::Settle`], as of `now`.
    Settle {
        /// The time the decisions were made with.
        now: Time,
        /// One per settlement.
        answers: Vec<SettleOutcome>,
    },
    /// For [`Group::Manage`].
    Manage {
        /// The answer to the command, or its refusal.
        answer: ManageOutcome,
        /// The expired delivery that was taken back before the command was decided.
        expired: Option<DeliveryRef>,
    },
    /// For [`Group::Clear`].
    Clear(Cleared),
    /// For [`Group::Typing`].
    Typing,
    /// For [`Group::Task`].
    Task(Box<TaskOutcome>),
    /// For [`Group::Access`].
    Access(Box<AccessOutcome>),
}

/// A database that stores Turno's state: SQLite, PostgreSQL, or the simulator's.
pub trait Store: Send + Sync + 'static {
    /// Returns the product, version and location, for people: `SQLite 3.54.1, turno.db`.
    fn describe(&self) -> &str;

    /// Returns the routes, which say how many groups can be committed at the same time, by kind of work.
    fn routes(&self) -> Routes;

    /// Runs the groups, in order, in one transaction on one route: all of them or none.
    ///
    /// A store whose [`Routes::merges`] is false receives one group at a time. With `as_of`, the transaction also reads
    /// the epoch of access, after the locks. If the epoch differs, returns [`StoreError::AccessChanged`] and stores
    /// nothing.
    fn commit(&self, route: usize, groups: Arc<[Group]>, as_of: Option<Epoch>) -> Pending<'_, Vec<Outcomes>>;

    /// Returns the states of some leases without locking them, and the clock, read afterwards.
    fn peek(&self, resources: Vec<Resource>) -> Pending<'_, Peeked>;

    /// Returns leases with an ownership, live or expired, ordered by resource name.
    fn leases(&self, query: LeaseQuery) -> Pending<'_, Peeked>;

    /// Returns leases whose `look_at` has passed by the database's clock, earliest first, and the next `look_at`. A
    /// store may return `None` for the next one if it is more than a second away. Locks nothing: the command `Look`
    /// decides again under the lock.
    fn due_leases(&self, limit: u32) -> Pending<'_, (Vec<Resource>, Option<Time>)>;

    /// Returns leases that have a waiting line or a pending request to the holder, ordered by resource name.
    fn lines(&self, after: Option<Resource>, limit: u32) -> Pending<'_, Vec<State>>;

    /// Returns how an ownership ended, from the history. The lease's own row keeps only the latest ending.
    fn ending(&self, resource: Resource, fence: Fence) -> Pending<'_, Option<Ending>>;

    /// Returns ended ownerships of a resource, from the history.
    fn history(&self, resource: Resource, from: Past, limit: u32) -> Pending<'_, Vec<Ending>>;

    /// Creates a queue, or changes its policy and push, as [`PutQueue::decide`] says. Returns `None` if it is late.
    fn put_queue(&self, put: PutQueue, by: Actor) -> Pending<'_, Option<QueueRow>>;

    /// Returns the recorded health of a queue's destination; `None` if the destination never failed.
    fn destination(&self, queue: QueueId) -> Pending<'_, Option<Destination>>;

    /// Returns the destinations that are failing or down.
    fn destinations(&self) -> Pending<'_, Vec<(QueueId, Destination)>>;

    /// Stores the health of a destination together with the event that announces it. Returns whether it was stored:
    /// `false` if another process stored a version since the one that `destination` was derived from.
    fn put_destination(&self, queue: QueueId, destination: Destination, news: Option<Event>) -> Pending<'_, bool>;

    /// Pauses or resumes a queue, and writes the audit entry that [`PauseQueue::decide`] returns.
    fn pause_queue(&self, pause: PauseQueue) -> Pending<'_, ()>;

    /// Returns a queue by name.
    fn queue(&self, name: QueueName) -> Pending<'_, Option<QueueRow>>;

    /// Returns all queues.
    fn queues(&self) -> Pending<'_, Vec<QueueRow>>;

    /// Returns deliveries that have expired by the database's clock, oldest first, and the next expiry. A store may
    /// return `None` for the next one if it is more than a second away.
    fn expired(&self, limit: u32) -> Pending<'_, (Vec<DeliveryRef>, Option<Time>)>;

    /// Returns the next instant after `after` at which a head of the queue is to be looked at. When `after` is the time
    /// of a claim that found nothing, the answer also covers heads that have become due since.
    fn next_look(&self, queue: QueueId, after: Time) -> Pending<'_, Option<Time>>;

    /// Returns how deliveries ended that are no longer live under these fences. An entry is `Some` only if a settlement
    /// of exactly that fence ended the delivery. Repeated settlements are answered from this. One per entry, in order.
    /// The rule is [`Trace::settled`](turno_core::queue::Trace::settled).
    fn settled(&self, reference: Vec<DeliveryRef>) -> Pending<'_, Vec<Option<SettleOutcome>>>;

    /// Returns one item with its body, state, errors and returned hand-outs.
    fn item(&self, queue: QueueId, id: ItemId) -> Pending<'_, Option<ItemRecord>>;

    /// Returns the unfinished item that absorbed the change accepted under this id and key.
    fn absorber(&self, queue: QueueId, id: ItemId, key: Key) -> Pending<'_, Option<ItemId>>;

    /// Returns items of a queue in order of arrival, for lists and checks. [`ItemQuery`] says which index serves which
    /// query.
    fn items(&self, queue: QueueId, query: ItemQuery) -> Pending<'_, Vec<ItemRecord>>;

    /// Returns how many items are in each state.
    fn counts(&self, queue: QueueId) -> Pending<'_, Counts>;

    /// Returns a summary of a queue, with counts of items processed and attempts failed at `since` or later.
    fn pulse(&self, queue: QueueId, since: Time) -> Pending<'_, Pulse>;

    /// Returns how many finished items a purge with the same `before` would delete.
    fn count_purgeable(&self, queue: QueueId, before: Time) -> Pending<'_, u64>;

    /// Returns the timing of up to `limit` items that were acked after `since`, in no particular order.
    fn waits(&self, queue: QueueId, since: Time, limit: u32) -> Pending<'_, Vec<Waited>>;

    /// Returns the first `size` items of a lane and, from the first [`LaneFront::LOOKED_AT`], those that are ready or
    /// handed out.
    fn lane_front(&self, queue: QueueId, lane: Lane, size: u32) -> Pending<'_, LaneFront>;

    /// Returns lanes behind `after`, in order, that have unfinished items which are not exhausted.
    fn lanes(&self, queue: QueueId, after: Option<Lane>, limit: u32) -> Pending<'_, Vec<Lane>>;

    /// Returns counts over all lanes of queues of kind lane.
    fn lane_locks(&self) -> Pending<'_, LaneLocks>;

    /// Applies one line of a finalize in its own transaction.
    ///
    /// The transaction holds the lease against takers but not against heartbeats, locks the line, reads the clock, and
    /// asks [`begin_line`](turno_core::task::begin_line). Then it runs the effect (the stock ledger if `effect` is
    /// `None`), saves the line with a note, and last renews the lease ([`Apply::renewed`]). If the effect refuses, its
    /// writes are undone and the line is saved as failed.
    fn apply_line(&self, apply: Apply, effect: Option<Arc<dyn Effect>>) -> Pending<'_, LineStep>;

    /// Returns one task with its lines.
    fn task(&self, id: TaskId) -> Pending<'_, Option<Task>>;

    /// Returns one task with its lines and its lease, without locking, and the clock, read afterwards.
    fn task_look(&self, id: TaskId) -> Pending<'_, TaskPage>;

    /// Returns tasks with their lines and leases, newest first. A query for locked tasks also returns tasks whose
    /// ownership has expired, because the engine compares with the clock. A query for unlocked tasks returns all tasks.
    fn tasks(&self, query: TaskQuery) -> Pending<'_, TaskPage>;

    /// Returns the notes of a task behind the number `after`, oldest first. Their numbers only grow.
    fn task_notes(&self, id: TaskId, after: i64, limit: u32) -> Pending<'_, Vec<(i64, Note)>>;

    /// Returns the stock of an article; `None` if the article never moved.
    fn stock(&self, sku: Sku) -> Pending<'_, Option<StockLevel>>;

    /// Finds a token by the hash of its secret, with its owner.
    fn token(&self, hash: Hash) -> Pending<'_, TokenFound>;

    /// Finds a link by the hash of its secret.
    fn link(&self, hash: Hash) -> Pending<'_, Option<Link>>;

    /// Returns how many administrators can sign in.
    fn admins(&self) -> Pending<'_, i64>;

    /// Returns database settings, as text for people, under which a committed transaction can be lost. Empty where the
    /// store sets them itself.
    fn unsafe_settings(&self) -> Pending<'_, Vec<String>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Returns the epoch of access.
    fn epoch(&self) -> Pending<'_, Epoch>;

    /// Returns a person.
    fn person(&self, id: UserId) -> Pending<'_, Option<Person>>;

    /// Returns people ordered by id.
    fn people(&self, after: Option<UserId>, limit: u32) -> Pending<'_, Vec<Person>>;

    /// Returns tokens ordered by id, sessions included, of one user or of all users.
    fn tokens(&self, user: Option<UserId>, after: Option<String>, limit: u32) -> Pending<'_, Vec<Token>>;

    /// Records when tokens were last used. A recorded time never moves back.
    fn touch_tokens(&self, used: Vec<(String, Time)>) -> Pending<'_, ()>;

    /// Extends a console session until `until`, if the session exists and would end earlier. Returns whether it was
    /// extended.
    fn renew_session(&self, id: String, until: Time) -> Pending<'_, bool>;

    /// Returns the answer kept under a key, and when it was made.
    fn answer(&self, once: Once) -> Pending<'_, Option<(Answer, Time)>>;

    /// Keeps an answer made at `at`, unless one made at `lapsed` or later is kept already. Returns the kept answer.
    fn keep_answer(&self, once: Once, answer: Answer, at: Time, lapsed: Time) -> Pending<'_, Answer>;

    /// Reads the schema's version, in one round trip.
    fn schema(&self) -> Pending<'_, SchemaState>;

    /// Checks that the database answers and that this program can use its schema. For a file, also checks that the path
    /// still leads to the opened file and that the file can be written.
    fn ready(&self) -> Pending<'_, ()> {
        Box::pin(async move { self.schema().await?.required() })
    }

    /// Returns the highest time that this process knows to be recorded in this life of the database.
    fn recorded(&self) -> Option<Time> {
        None
    }

    /// Records durably that time has reached `now`, for processes that start after the clock was set back.
    fn raise_mark(&self, _now: Time) -> Pending<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns audit entries.
    fn audit(&self, query: AuditQuery) -> Pending<'_, Vec<Entry>>;

    /// Returns the head of the audit.
    fn audit_head(&self) -> Pending<'_, Head>;

    /// Deletes up to `limit` old rows and returns how many. Purged items are audited as [`purge_entry`] says.
    fn purge(&self, what: Purge, limit: u32) -> Pending<'_, u64>;

    /// Examines the next `limit` leases behind `after`, ordered by resource name, and deletes those that have no
    /// holder, no waiting line, and no ownership since `before`. Returns how many were deleted and where to continue;
    /// `None` at the end.
    ///
    /// A deleted lease is like a resource never seen. Its fences keep growing, because they come from the one sequence.
    fn purge_leases(&self, after: Option<Resource>, before: Time, limit: u32) -> Pending<'_, (u64, Option<Resource>)>;

    /// Runs one check and returns at most `limit` findings.
    fn check(&self, check: Check, limit: u32) -> Pending<'_, Vec<Finding>>;

    /// Rebuilds a damaged lane in one transaction, under the lane's lock, and audits that as `queue_repair`. A lane
    /// that is sound by then is not changed and leaves no entry. Other processes clear their cached lane floors.
    fn repair(&self, repair: RepairGroup) -> Pending<'_, RepairOutcome> {
        let message = format!("this store repairs nothing; queue {} stays as it is", repair.name);
        Box::pin(std::future::ready(Err(StoreError::Rejected(message))))
    }

    /// Writes a copy of the database, consistent as of one instant, to a new file. Returns `Rejected` where the
    /// database has its own backup tools.
    fn backup(&self, to: std::path::PathBuf) -> Pending<'_, ()>;

    /// Gives committed events their positions, in the order in which they become visible. So a reader that continues
    /// behind a position never misses an event that gets a lower position later.
    fn sequence(&self) -> Pending<'_, Sequenced>;

    /// Returns the events behind a position, in order. Positions are consecutive: if the first returned position does
    /// not follow `after` directly, the events between were purged.
    fn events(&self, after: Position, limit: u32) -> Pending<'_, Vec<(Position, Event)>>;

    /// Returns which positions are kept. The span survives a purge, so that no position is given twice.
    fn event_span(&self) -> Pending<'_, EventSpan>;

    /// Deletes at most `limit` of the oldest events, stopping before the first event decided at `before` or later.
    /// Deletes only from the old end, because readers cannot detect a hole in the middle. Returns how many were
    /// deleted.
    fn purge_events(&self, before: Time, limit: u32) -> Pending<'_, u64>;

    /// Returns the intake, if applications can enqueue inside their own transactions in this database.
    fn intake(&self) -> Option<&dyn IntakeStore> {
        None
    }

    /// Returns whether an open transaction of an application is completing the delivery that begins with this item.
    fn completing(&self, _first: Seq) -> Pending<'_, bool> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// Returns access to the tables of applications, if this store has it.
    fn source_tables(&self) -> Option<&dyn SourceTables> {
        None
    }

    /// Stores what a destination has confirmed, unless a newer revision of the key is stored. Also writes the action
    /// into the item that carried it.
    fn sync_delivered(&self, delivered: Delivered) -> Pending<'_, ()> {
        let message = format!("this store keeps no deliveries; that of {} is lost", delivered.key);
        Box::pin(std::future::ready(Err(StoreError::Rejected(message))))
    }

    /// Waits for a hint from another process that something changed, if the database can send hints.
    fn hint(&self) -> Pending<'_, Hint>;

    /// Sends hints to other processes. Hints may be lost.
    fn announce(&self, hints: Vec<Hint>) -> Pending<'_, ()>;
}

/// Leases read without locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peeked {
    /// The database's clock, read afterwards.
    pub now: Time,
    /// The epoch of access, read together with the clock.
    pub epoch: Epoch,
    /// One state per resource, in the given order; a resource never seen is free.
    pub states: Vec<State>,
}

/// A filter for leases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseQuery {
    /// Only leases held by this user.
    pub holder: Option<UserId>,
    /// Only resources whose names begin with this.
    pub prefix: Option<String>,
    /// Only resources behind this one.
    pub after: Option<Resource>,
    /// The maximum number of leases.
    pub limit: u32,
}

/// A part of a resource's history. Fences only grow, so they serve as cursors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// Newest first.
    Newest {
        /// Only ownerships with a smaller fence.
        before: Option<Fence>,
    },
    /// Oldest first.
    Oldest {
        /// Only ownerships with a larger fence.
        after: Fence,
    },
}

/// A hint without data: look again. A lost hint only delays, because every reader also looks again by the clock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    /// A queue has new or freed work.
    Queue(QueueId),
    /// A queue has a new policy, so that cached copies of it are stale.
    Policy(QueueId),
    /// A lease became free or was offered.
    Lease(Resource),
    /// Events got their positions.
    Events,
    /// Hints may have been lost: look at everything.
    All,
}

/// Which routes serve which work. A route is one connection (or thread) that commits one group after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    /// Whether one transaction may carry groups of several kinds.
    pub merges: bool,
    /// Routes for claims of leases and waiting lines, chosen by a hash of the resource.
    pub leases: Vec<usize>,
    /// Routes for enqueues and claims of items, chosen by lane, or in turn for items without a lane.
    pub items: Vec<usize>,
    /// The route kept free for heartbeats, releases and settlements.
    pub reserved: usize,
}
