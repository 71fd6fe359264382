//! The contract between the engine and a database.
//!
//! A [`Store`] runs *groups*: commands that arrived together and are decided together, in one transaction. A group takes
//! these four steps; small enqueues on PostgreSQL take them in one statement:
//!
//! 1. Lock and read every row that the group names. Missing rows are inserted first, so that they can be locked too.
//! 2. Only then read the clock and the recorded mark, pass both through [`Clock::resume`](crate::clock::Clock::resume)
//!    and [`Clock::observe`](crate::clock::Clock::observe), and take fresh numbers from the one sequence.
//! 3. Ask the group for its decision, which is a pure function of what was read.
//! 4. Write the changes, raise the mark if it lags, read the bodies of the items handed out, commit.
//!
//! A store contains no rules. SQL chooses due heads with `SKIP LOCKED` and finds rows by seq and fence; everything else
//! is decided in `turno_core`, or in the `decide` of its group. The implementations are in `stores`; the model in
//! `turno-testkit` is a third.

mod access;
mod answer;
mod audit;
mod check;
mod destination;
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
mod tls;

pub use access::{AccessGroup, AccessOutcome, AccessRead, AccessStore, AccessWrite, TokenFound};
pub use answer::{Answer, AnswerStore};
pub use audit::{AuditQuery, AuditReader};
pub use check::{Check, Damaged, Finding, Problem, Subject};
pub use destination::DestinationStore;
pub use event::{EventSpan, EventStore, Sequenced};
pub use fault::{DatabaseMessage, FileFault, SchemaFault, StoreError};
pub use intake::{IntakeCaller, IntakeSlice, IntakeStore};
pub use item::{Counts, HandOut, ItemPage, ItemQuery, ItemReader, ItemRecord, ItemSize, LaneFront, LaneLocks, Pulse};
pub use lease::{LeaseGroup, LeaseQuery, LeaseRead, LeaseReader, LeaseWrite, Past, Peeked};
pub use manage::{ClearGroup, ManageGroup, ManageOutcome};
pub use purge::{Purge, Upkeep};
pub use queue::{
    Bodies, Claim, ClaimGroup, ClaimOutcome, EnqueueGroup, Outlived, PauseQueue, Push, PushChange, PutChange,
    PutDecision, PutQueue, QueueRow, QueueStore, SettleGroup, SettleRead, TypingGroup, purge_entry,
};
pub use repair::{Found, RepairGroup, RepairOutcome};
pub use schema::SchemaState;
pub use sync::{Delivered, Part, PartState, SourceLook, SourceTables, Sourced, Walk};
pub use task::{
    Dialect, Effect, EffectError, EffectFuture, LineStep, LineToApply, StockLevel, TaskGroup, TaskOutcome, TaskPage,
    TaskQuery, TaskRead, TaskReader, TaskWrite, Tx, Value,
};
pub use tls::{TlsFault, TlsFileProblem, UrlFault};

#[cfg(feature = "postgres")]
pub use crate::stores::postgres::url::PostgresUrl;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use turno_core::access::Epoch;
use turno_core::id::{QueueId, Resource};
use turno_core::lease::{Decision, State};
use turno_core::queue::{Accepted, Cleared, DeliveryRef, SettleOutcome};
use turno_core::task::Apply;
use turno_core::time::Time;

/// The traits of all nouns, for calls on a store's own type.
#[cfg(test)]
pub(crate) mod traits {
    pub(crate) use super::{
        AccessStore as _, AuditReader as _, EventStore as _, ItemReader as _, LeaseReader as _, QueueStore as _,
        Store as _, TaskReader as _, Upkeep as _,
    };
}

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

/// A database that stores Turno's state: SQLite, PostgreSQL, or the model's. This trait is the contract of commits; its
/// supertraits are the contracts of the nouns.
pub trait Store:
    LeaseReader
    + QueueStore
    + ItemReader
    + DestinationStore
    + TaskReader
    + AccessStore
    + AuditReader
    + AnswerStore
    + EventStore
    + Upkeep
    + Send
    + Sync
    + 'static
{
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

    /// Applies one line of a finalize in its own transaction.
    ///
    /// The transaction holds the lease against takers but not against heartbeats, locks the line, reads the clock, and
    /// asks [`begin_line`](turno_core::task::begin_line). Then it runs the effect (the stock ledger if `effect` is
    /// `None`), saves the line with a note, and last renews the lease ([`Apply::renewed`]). If the effect refuses, its
    /// writes are undone and the line is saved as failed.
    fn apply_line(&self, apply: Apply, effect: Option<Arc<dyn Effect>>) -> Pending<'_, LineStep>;

    /// Returns the highest time that this process knows to be recorded in this life of the database.
    fn recorded(&self) -> Option<Time> {
        None
    }

    /// Records durably that time has reached `now`, for processes that start after the clock was set back.
    fn raise_mark(&self, _now: Time) -> Pending<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns the intake, if applications can enqueue inside their own transactions in this database.
    fn intake(&self) -> Option<&dyn IntakeStore> {
        None
    }

    /// Returns access to the tables of applications, if this store has it.
    fn source_tables(&self) -> Option<&dyn SourceTables> {
        None
    }

    /// Stores what a destination has confirmed, unless a newer revision of the key is stored. Also writes the action
    /// into the item that carried it.
    fn sync_delivered(&self, delivered: Delivered) -> Pending<'_, ()> {
        let message = format!("this store keeps no deliveries; that of {} is lost", delivered.key);
        Box::pin(std::future::ready(Err(StoreError::Rejected(message.into()))))
    }

    /// Waits for a hint from another process that something changed, if the database can send hints.
    fn hint(&self) -> Pending<'_, Hint>;

    /// Sends hints to other processes. Hints may be lost.
    fn announce(&self, hints: Vec<Hint>) -> Pending<'_, ()>;
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
    /// Routes for claims of leases and waiting lines, chosen by a hash of the resource, and for tasks and access.
    pub leases: Vec<usize>,
    /// Routes for enqueues, claims and management of items, chosen by lane, or in turn for items without a lane.
    pub items: Vec<usize>,
    /// The route of heartbeats, releases and settlements. On PostgreSQL no other work uses it.
    pub reserved: usize,
}
