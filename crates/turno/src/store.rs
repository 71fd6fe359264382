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

mod event;
mod lease;
mod queue;

pub use event::{EventSpan, Sequenced};
pub use lease::{LeaseGroup, LeaseRead, LeaseWrite};
pub use queue::{
    Bodies, Claim, ClaimGroup, ClaimOutcome, EnqueueGroup, ManageGroup, ManageOutcome, SettleGroup, SettleRead,
    TypingGroup,
};

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use turno_core::event::Event;
use turno_core::id::{Fence, ItemId, Position, QueueId, QueueName, Resource, Seq};
use turno_core::lease::{Decision, Ending, State};
use turno_core::queue::{Accepted, AttemptError, Body, Done, Handed, Item, Policy, SettleOutcome};
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
    /// Signs of typing.
    Typing(TypingGroup),
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
    Manage(ManageOutcome),
    /// For [`Group::Typing`].
    Typing,
}

/// Why a group was not committed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The database could not be reached, and nothing was stored: try again.
    #[error("the database is not reachable: {0}")]
    Unavailable(String),
    /// The connection was lost at commit and its outcome could not be found out.
    #[error("the outcome of the commit is unknown: {0}")]
    Unknown(String),
    /// Another transaction got in between (a deadlock, the same new id): redo the group.
    #[error("another transaction came in between: {0}")]
    Conflict(String),
    /// The database refused a statement, and nothing was stored: some command of the group is the culprit.
    #[error("the database refused: {0}")]
    Rejected(String),
    /// The schema is not one that this version can use.
    #[error("{0}")]
    Schema(String),
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
}

/// How many items of a queue are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Waiting, not failed.
    pub pending: i64,
    /// Handed out and live.
    pub in_process: i64,
    /// Waiting after a failure.
    pub error: i64,
    /// Acked.
    pub processed: i64,
    /// No attempts left.
    pub exhausted: i64,
    /// Taken out by a person.
    pub cancelled: i64,
}

/// Everything that is known about one item: its timeline is read from its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemRecord {
    /// What it carries.
    pub body: Body,
    /// Its condition, while unfinished.
    pub item: Option<Item>,
    /// How it finished.
    pub done: Option<Done>,
    /// Its failed attempts, oldest first.
    pub errors: Vec<AttemptError>,
}

/// A database that remembers.
pub trait Store: Send + Sync + 'static {
    /// What it is and where, for people: `SQLite 3.54.1, turno.db`.
    fn describe(&self) -> &str;

    /// How many groups it can commit at the same time, by kind of work.
    fn routes(&self) -> Routes;

    /// Runs the groups, in order, in one transaction on one route: all of them or none.
    ///
    /// A store whose [`Routes::merges`] is false is given one group at a time.
    fn commit(&self, route: usize, groups: Arc<[Group]>) -> Pending<'_, Vec<Outcomes>>;

    /// The states of some leases without locking them, and the clock read afterwards.
    /// One state per resource, in the given order; a resource never seen is free.
    fn peek(&self, resources: Vec<Resource>) -> Pending<'_, (Time, Vec<State>)>;

    /// How an ownership ended that the lease's row has forgotten.
    fn ending(&self, resource: Resource, fence: Fence) -> Pending<'_, Option<Ending>>;

    /// The ended ownerships of a resource, newest first.
    fn history(&self, resource: Resource, limit: u32) -> Pending<'_, Vec<Ending>>;

    /// Creates a queue or changes its policy; the kind of a queue with unfinished items stays as it is
    /// (then `Rejected`). An unchanged policy keeps its version.
    fn put_queue(&self, name: QueueName, policy: Policy) -> Pending<'_, QueueRow>;

    /// Stops or resumes hand-outs of a queue.
    fn pause_queue(&self, queue: QueueId, paused: bool) -> Pending<'_, ()>;

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

    /// Items of a queue by place, for lists and checks.
    fn items(&self, queue: QueueId, after: Seq, limit: u32) -> Pending<'_, Vec<ItemRecord>>;

    /// How many items are in which state.
    fn counts(&self, queue: QueueId) -> Pending<'_, Counts>;

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

    /// Waits for a hint from another process that something changed, if the database can send one.
    fn hint(&self) -> Pending<'_, Hint>;

    /// Passes a hint on to other processes; may be dropped.
    fn announce(&self, hints: Vec<Hint>) -> Pending<'_, ()>;
}

/// A hint without data: look again. Everything works, later, if it never comes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    /// A queue has new or freed work.
    Queue(QueueId),
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
