//! The contract between the engine and a database.
//!
//! A [`Store`] runs *groups*: commands that arrived together and are decided together, in one transaction.
//! For every group it does the same four things, and no rule is written in it:
//!
//! 1. lock and read what the group names, absent rows included (insert the missing ones first);
//! 2. only then read the clock and the recorded mark, pass them through
//!    [`Clock::resume`](crate::clock::Clock::resume) and [`Clock::observe`](crate::clock::Clock::observe), and
//!    take fresh numbers from the one sequence;
//! 3. ask the group for its decision, which is pure;
//! 4. write the changes, raise the mark if it lags, read the bodies of what was handed out, commit.
//!
//! What lives in SQL: choosing due heads with `SKIP LOCKED`, and finding rows by seq and fence. Everything
//! else is decided in `turno_core`. Implementations are in `stores`; the simulator brings its own.

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
pub use intake::{IntakeSlice, IntakeStore, TakesIn};
pub use item::{Counts, HandOut, ItemQuery, ItemRecord, LaneFront, LaneLocks, Pulse};
pub use lease::{LeaseGroup, LeaseRead, LeaseWrite};
pub use manage::{ClearGroup, ManageGroup, ManageOutcome};
pub use purge::Purge;
pub(crate) use queue::kind_stays;
pub use queue::{
    Bodies, Claim, ClaimGroup, ClaimOutcome, EnqueueGroup, Outlived, Push, PushChange, PutQueue, SettleGroup,
    SettleRead, TypingGroup, purge_entry,
};
pub use repair::{Found, RepairGroup, RepairOutcome};
pub use schema::SchemaState;
pub use sync::{Delivered, Part, PartState, SourceLook, SourceTables, Sourced, Walk};
pub use task::{
    Dialect, Effect, EffectError, Effected, LineStep, LineToApply, StockLevel, TaskGroup, TaskOutcome, TaskPage,
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
use turno_core::queue::{Accepted, Cleared, Handed, Policy, SettleOutcome, Waited};
use turno_core::task::{Apply, Note, Task, TaskId};
use turno_core::time::Time;

/// An answer that the database has yet to give.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Commands of one kind that are decided together.
#[derive(Clone, Debug)]
pub enum Group {
    /// Leases.
    Lease(LeaseGroup),
    /// Items to admit.
    Enqueue(EnqueueGroup),
    /// Callers of one queue who want work.
    Claim(ClaimGroup),
    /// Deliveries to settle.
    Settle(SettleGroup),
    /// A person's wish about one item.
    Manage(ManageGroup),
    /// A lane to be cleared.
    Clear(ClearGroup),
    /// Signs of typing.
    Typing(TypingGroup),
    /// A task.
    Task(Box<TaskGroup>),
    /// People and tokens.
    Access(Box<AccessGroup>),
}

/// The decisions of a group, one per command and in the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcomes {
    /// For [`Group::Lease`]: the decision and the state after it, as of `now`.
    Lease {
        /// The time they were decided with.
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
        /// The time they were decided with.
        now: Time,
        /// One per settlement.
        answers: Vec<SettleOutcome>,
    },
    /// For [`Group::Manage`].
    Manage {
        /// What became of the wish.
        answer: ManageOutcome,
        /// The delivery that had expired and was taken back first.
        expired: Option<Handed>,
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

/// A queue as the database knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueRow {
    /// Its number.
    pub id: QueueId,
    /// Its name.
    pub name: QueueName,
    /// Its policy.
    pub policy: Policy,
    /// Grows with every change of the policy, so that a stale copy is noticed.
    pub version: i64,
    /// Nothing is handed out while it is paused.
    pub paused: bool,
    /// How many finished items have been forgotten.
    pub purged: i64,
    /// Where its deliveries are sent, in words that only the server understands; nothing if only workers claim.
    pub push: Option<Arc<str>>,
}

/// A database that remembers.
pub trait Store: Send + Sync + 'static {
    /// What it is and where, for people: `SQLite 3.54.1, turno.db`.
    fn describe(&self) -> &str;

    /// How many groups it can commit at the same time, by kind of work.
    fn routes(&self) -> Routes;

    /// Runs the groups, in order, in one transaction on one route: all of them or none.
    ///
    /// A store whose [`Routes::merges`] is false is given one group at a time. With `as_of`, the epoch of access is
    /// read in the same transaction, after the locks; if it is another one, the answer is
    /// [`StoreError::AccessChanged`] and nothing is stored.
    fn commit(&self, route: usize, groups: Arc<[Group]>, as_of: Option<Epoch>) -> Pending<'_, Vec<Outcomes>>;

    /// The states of some leases without locking them, and the clock read afterwards.
    fn peek(&self, resources: Vec<Resource>) -> Pending<'_, Peeked>;

    /// Leases that have an ownership, live or expired, in the order of their names.
    fn leases(&self, query: LeaseQuery) -> Pending<'_, Peeked>;

    /// Returns leases whose look was due by the database's clock, earliest first, and when the next one is due; that may
    /// be left out if it is more than a second away. Nothing is locked: the look is decided anew in its own group.
    fn due_leases(&self, limit: u32) -> Pending<'_, (Vec<Resource>, Option<Time>)>;

    /// Leases for which somebody waits, or asks, in the order of their names.
    fn lines(&self, after: Option<Resource>, limit: u32) -> Pending<'_, Vec<State>>;

    /// How an ownership ended that the lease's row has forgotten.
    fn ending(&self, resource: Resource, fence: Fence) -> Pending<'_, Option<Ending>>;

    /// The ended ownerships of a resource.
    fn history(&self, resource: Resource, from: Past, limit: u32) -> Pending<'_, Vec<Ending>>;

    /// Creates a queue or changes its policy and its push, and audits that (`queue_put`, with both); the kind of a
    /// queue with unfinished items stays as it is (then `Rejected`). What is unchanged keeps its version and leaves no
    /// entry. Nothing is answered, and nothing changed, if it is not as it was seen any more.
    fn put_queue(&self, put: PutQueue, by: Actor) -> Pending<'_, Option<QueueRow>>;

    /// How the destination of a queue is doing; nothing if it never failed.
    fn destination(&self, queue: QueueId) -> Pending<'_, Option<Destination>>;

    /// The destinations that are not well.
    fn destinations(&self) -> Pending<'_, Vec<(QueueId, Destination)>>;

    /// Keeps how a destination is doing, with what there is to tell of it, unless somebody else did since the version
    /// before it; answers whether.
    fn put_destination(&self, queue: QueueId, destination: Destination, news: Option<Event>) -> Pending<'_, bool>;

    /// Stops or resumes hand-outs of a queue, and audits that (`queue_pause`, `queue_resume`), also if nothing changed.
    fn pause_queue(&self, queue: QueueId, paused: bool, by: Actor) -> Pending<'_, ()>;

    /// A queue by name.
    fn queue(&self, name: QueueName) -> Pending<'_, Option<QueueRow>>;

    /// All queues.
    fn queues(&self) -> Pending<'_, Vec<QueueRow>>;

    /// Hand-outs that had expired by the database's clock, oldest first, and when the next one will; it may be left
    /// out if that is more than a second away.
    fn expired(&self, limit: u32) -> Pending<'_, (Vec<Handed>, Option<Time>)>;

    /// The next instant after `after` at which a head of the queue should be looked at. Asked with the time of a
    /// claim that found nothing, it also tells of heads that have become due since.
    fn next_look(&self, queue: QueueId, after: Time) -> Pending<'_, Option<Time>>;

    /// How deliveries ended that are not live any more under these fences, if they ended by a settlement of
    /// exactly that fence: what a repeated settlement is answered from. One per entry, in order. The rule is
    /// [`Trace::settled`](turno_core::queue::Trace::settled).
    fn settled(&self, handed: Vec<Handed>) -> Pending<'_, Vec<Option<SettleOutcome>>>;

    /// One item with all that is known about it.
    fn item(&self, queue: QueueId, id: ItemId) -> Pending<'_, Option<ItemRecord>>;

    /// The item that took in the change which was accepted under this id, for this key: it was unfinished at that moment.
    fn absorber(&self, queue: QueueId, id: ItemId, key: Key) -> Pending<'_, Option<ItemId>>;

    /// Items of a queue by place, for lists and checks. What is read through which index is said at [`ItemQuery`].
    fn items(&self, queue: QueueId, query: ItemQuery) -> Pending<'_, Vec<ItemRecord>>;

    /// How many items are in which state.
    fn counts(&self, queue: QueueId) -> Pending<'_, Counts>;

    /// A queue at a glance, with what was processed and what failed at `since` or later.
    fn pulse(&self, queue: QueueId, since: Time) -> Pending<'_, Pulse>;

    /// How many finished items of a queue forgetting those before then would take.
    fn count_purgeable(&self, queue: QueueId, before: Time) -> Pending<'_, u64>;

    /// How it was with items that were acked after `since`: any of them, at most `limit`.
    fn waits(&self, queue: QueueId, since: Time, limit: u32) -> Pending<'_, Vec<Waited>>;

    /// The first `size` items of a lane, and of the first [`LaneFront::LOOKED_AT`] those that are ready or handed out.
    fn lane_front(&self, queue: QueueId, lane: Lane, size: u32) -> Pending<'_, LaneFront>;

    /// Lanes of a queue that have unfinished items which are not exhausted, in order, behind `after`.
    fn lanes(&self, queue: QueueId, after: Option<Lane>, limit: u32) -> Pending<'_, Vec<Lane>>;

    /// What goes on in all lanes of queues of kind lane.
    fn lane_locks(&self) -> Pending<'_, LaneLocks>;

    /// Carries one line of a finalize out, in a transaction of its own: its lease held against takers but not against
    /// heartbeats, the line locked, the clock read, [`begin_line`](turno_core::task::begin_line) asked, the effect
    /// (the stock ledger if there is none), the line saved with a note, the lease renewed as by work, last of all.
    /// What an effect wrote that refused is undone, and the line saved as failed.
    fn apply_line(&self, apply: Apply, effect: Option<Arc<dyn Effect>>) -> Pending<'_, LineStep>;

    /// One task with its lines.
    fn task(&self, id: TaskId) -> Pending<'_, Option<Task>>;

    /// One task with its lines and its lease, not locked, and the clock read afterwards.
    fn task_look(&self, id: TaskId) -> Pending<'_, TaskPage>;

    /// Tasks with their lines and leases, newest first. Asked for those that are locked, also ones whose ownership has
    /// expired: the engine looks at the clock. Asked for the others, all of them.
    fn tasks(&self, query: TaskQuery) -> Pending<'_, TaskPage>;

    /// What happened to a task behind the note of this number, oldest first, with their numbers, which only grow.
    fn task_notes(&self, id: TaskId, after: i64, limit: u32) -> Pending<'_, Vec<(i64, Note)>>;

    /// What is in stock of an article; nothing if it was never moved.
    fn stock(&self, sku: Sku) -> Pending<'_, Option<StockLevel>>;

    /// Who comes with the token whose secret has this hash.
    fn token(&self, hash: Hash) -> Pending<'_, TokenFound>;

    /// The link whose secret has this hash.
    fn link(&self, hash: Hash) -> Pending<'_, Option<Link>>;

    /// How many administrators can sign in.
    fn admins(&self) -> Pending<'_, i64>;

    /// Settings of the database under which what was committed can be lost, as people read them. Where the store sets
    /// them itself there are none.
    fn unsafe_settings(&self) -> Pending<'_, Vec<String>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// The epoch of access.
    fn epoch(&self) -> Pending<'_, Epoch>;

    /// A person.
    fn person(&self, id: UserId) -> Pending<'_, Option<Person>>;

    /// People in the order of their ids.
    fn people(&self, after: Option<UserId>, limit: u32) -> Pending<'_, Vec<Person>>;

    /// Tokens in the order of their ids, sessions included; of one user or of all.
    fn tokens(&self, user: Option<UserId>, after: Option<String>, limit: u32) -> Pending<'_, Vec<Token>>;

    /// Notes when tokens were last used; never back in time.
    fn touch_tokens(&self, used: Vec<(String, Time)>) -> Pending<'_, ()>;

    /// Lets a session of the console live until then, if it is still there and would not live as long; says whether it does.
    fn renew_session(&self, id: String, until: Time) -> Pending<'_, bool>;

    /// The answer that is kept under a key, and since when.
    fn answer(&self, of: Once) -> Pending<'_, Option<(Answer, Time)>>;

    /// Keeps an answer as made at `at`, unless one was kept after `lapsed`; answers the one that is kept.
    fn keep_answer(&self, of: Once, answer: Answer, at: Time, lapsed: Time) -> Pending<'_, Answer>;

    /// The schema as it is now, in one round trip.
    fn schema(&self) -> Pending<'_, SchemaState>;

    /// Whether it can be used: it answers and has a schema that this program can use. A file is still the one that was
    /// opened, and can be written.
    fn ready(&self) -> Pending<'_, ()> {
        Box::pin(async move { self.schema().await?.required() })
    }

    /// The time that this process knows to be recorded in this life of the database.
    fn recorded(&self) -> Option<Time> {
        None
    }

    /// Records durably that time has reached `now`, for processes that start after the clock was set back.
    fn raise_mark(&self, _now: Time) -> Pending<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Entries of the audit.
    fn audit(&self, query: AuditQuery) -> Pending<'_, Vec<Entry>>;

    /// The head of the audit.
    fn audit_head(&self) -> Pending<'_, Head>;

    /// Forgets up to `limit` old things, and audits it where things of users are gone; answers how many.
    fn purge(&self, what: Purge, limit: u32) -> Pending<'_, u64>;

    /// Looks at the next `limit` leases behind `after`, in the order of their names, and forgets those that nobody holds,
    /// waits for or has held since `before`. Answers how many, and where to go on; nothing at the end.
    ///
    /// A lease that is forgotten is as one never seen. Its fences go on growing: they come from the one sequence.
    fn purge_leases(&self, after: Option<Resource>, before: Time, limit: u32) -> Pending<'_, (u64, Option<Resource>)>;

    /// Makes one look, and answers at most `limit` findings.
    fn check(&self, check: Check, limit: u32) -> Pending<'_, Vec<Finding>>;

    /// Rebuilds a damaged lane in one transaction, under the lane's lock, and audits that (`queue_repair`). What is sound by
    /// then is left as it is and leaves no entry. Other processes forget what they remember about the fronts of lanes.
    fn repair(&self, repair: RepairGroup) -> Pending<'_, RepairOutcome> {
        let message = format!("this store repairs nothing; queue {} stays as it is", repair.name);
        Box::pin(std::future::ready(Err(StoreError::Rejected(message))))
    }

    /// Writes a copy of the database, consistent as of one instant, to a new file; `Rejected` where the database has
    /// tools of its own for that.
    fn backup(&self, to: std::path::PathBuf) -> Pending<'_, ()>;

    /// Gives committed events their positions, in an order in which they also become visible: whoever reads
    /// behind a position never misses one that gets a lower one later.
    fn sequence(&self) -> Pending<'_, Sequenced>;

    /// The events behind a position, in order. Positions are consecutive: if the first one is not the very next,
    /// those between were purged.
    fn events(&self, after: Position, limit: u32) -> Pending<'_, Vec<(Position, Event)>>;

    /// Which positions are kept. What was purged is remembered: positions are never given twice.
    fn event_span(&self) -> Pending<'_, EventSpan>;

    /// Forgets the oldest events, up to the first one that was decided at `before` or later, and at most `limit` of
    /// them: a hole in the middle would be a gap that nobody is told about. Answers how many.
    fn purge_events(&self, before: Time, limit: u32) -> Pending<'_, u64>;

    /// What applications leave in transactions of their own, if they can.
    fn intake(&self) -> Option<&dyn IntakeStore> {
        None
    }

    /// Whether an application is completing the delivery that begins with this item, in a transaction that is still open.
    fn completing(&self, _first: Seq) -> Pending<'_, bool> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// What it can do with tables of applications, if it can do anything.
    fn source_tables(&self) -> Option<&dyn SourceTables> {
        None
    }

    /// Keeps what a destination has confirmed, unless something newer of the key is kept, and writes the action into the
    /// item that carried it.
    fn sync_delivered(&self, delivered: Delivered) -> Pending<'_, ()> {
        let message = format!("this store keeps no deliveries; that of {} is lost", delivered.key);
        Box::pin(std::future::ready(Err(StoreError::Rejected(message))))
    }

    /// Waits for a hint from another process that something changed, if the database can send one.
    fn hint(&self) -> Pending<'_, Hint>;

    /// Passes a hint on to other processes; may be dropped.
    fn announce(&self, hints: Vec<Hint>) -> Pending<'_, ()>;
}

/// Leases as they are, unlocked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peeked {
    /// The database's clock, read afterwards.
    pub now: Time,
    /// The epoch of access, read with it.
    pub epoch: Epoch,
    /// One state per resource, in the given order; a resource never seen is free.
    pub states: Vec<State>,
}

/// Which leases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseQuery {
    /// Only of this user.
    pub holder: Option<UserId>,
    /// Only resources whose names begin so.
    pub prefix: Option<String>,
    /// Only behind this one.
    pub after: Option<Resource>,
    /// At most so many.
    pub limit: u32,
}

/// Which part of a history: fences only grow, so they are places in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// Newest first.
    Newest {
        /// Only earlier than this one.
        before: Option<Fence>,
    },
    /// Oldest first.
    Oldest {
        /// Only later than this one.
        after: Fence,
    },
}

/// A hint without data: look again. Everything works, later, if it never comes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    /// A queue has new or freed work.
    Queue(QueueId),
    /// A queue has another policy: what is remembered of it is not true any more.
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
    /// One transaction may carry groups of several kinds.
    pub merges: bool,
    /// For claims of leases and waiting lines, routed by resource.
    pub leases: Vec<usize>,
    /// For admitting and handing out items, routed by lane, or in turn where there is none.
    pub items: Vec<usize>,
    /// Kept free for heartbeats, releases and settlements.
    pub reserved: usize,
}
