//! A task command and its decision, and the interface for an application's own effect of a line.

use super::{LeaseWrite, Pending, StoreError};
use std::future::Future;
use std::pin::Pin;
use turno_core::audit::{Head, chain};
use turno_core::id::{Once, Resource, Sku, UserId};
use turno_core::lease::{self, Reason};
use turno_core::task::{
    Action, Command, Decision, Finalized, Line, LineOutcome, Lines, Note, Outcome, Read, Refused, Status, Task, TaskId,
    decide,
};
use turno_core::time::Time;

/// One command on one task. Task commands are rare, so they are not grouped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskGroup {
    /// The command.
    pub command: Command,
    /// Whether the built-in stock ledger is the effect of lines, so that validation reads the stock.
    pub stock: bool,
}

/// The rows that the store read, with the task and its lease locked.
#[derive(Debug)]
pub struct TaskRead {
    /// The input of the decision.
    pub read: Read,
    /// The head of the audit, locked, if [`TaskGroup::audits`] is true.
    pub head: Option<Head>,
}

/// The rows to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskWrite {
    /// The task after the command, if it changed.
    pub task: Option<Task>,
    /// The once key of a new task.
    pub once: Option<Once>,
    /// Which lines to write.
    pub lines: Lines,
    /// The notes for the task's history.
    pub notes: Vec<Note>,
    /// The lease, the events and the audit entries.
    pub lease: LeaseWrite,
}

/// The answer to a task command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskOutcome {
    /// The outcome, or the refusal.
    pub answer: Result<Outcome, Refused>,
    /// The task afterwards.
    pub task: Option<Task>,
    /// Its lease afterwards.
    pub lease: lease::State,
    /// Expired ownerships that this command ended. No command asked for their end, so the engine logs it.
    pub expired: Vec<lease::Ending>,
    /// The database's time of the decision.
    pub now: Time,
}

impl TaskGroup {
    /// Returns the resource of the task's lease, which is inserted if missing and locked; `None` for a new task.
    pub fn resource(&self) -> Option<Resource> {
        self.command.task.map(TaskId::resource)
    }

    /// Returns the key under which a task is created once. A task that exists under the key is read instead.
    pub fn once(&self) -> Option<&Once> {
        match &self.command.action {
            Action::Create { once, .. } => once.as_ref(),
            _ => None,
        }
    }

    /// Returns the number of the line whose article's stock must be read.
    pub fn validates(&self) -> Option<u32> {
        match self.command.action {
            Action::Validate { number, .. } if self.stock => Some(number),
            _ => None,
        }
    }

    /// Returns whether the head of the audit must be locked, after all other rows.
    pub fn audits(&self) -> bool {
        use lease::Action::{ForceClaim, ForceRelease};
        matches!(self.command.action, Action::Cancel { .. } | Action::Lease(ForceClaim { .. } | ForceRelease { .. }))
    }

    /// Returns how many fresh numbers the decision may use.
    pub fn numbers(&self) -> usize {
        use lease::Action::{Claim, ForceClaim};
        usize::from(matches!(self.command.action, Action::Lease(Claim { .. } | ForceClaim { .. })))
    }

    /// Decides the command.
    pub fn decide(&self, read: TaskRead) -> (TaskWrite, TaskOutcome) {
        let TaskRead { read, head } = read;
        let now = read.now;
        let Decision { answer, task, changed, lines, lease, lease_changed, ended, notes, events, audit } =
            decide(&self.command, read);
        let mut head = head.unwrap_or_default();
        let ended_of = ended.iter().map(|_| lease.resource.clone()).collect();
        let expired = ended.iter().filter(|ending| ending.reason == Reason::Expired).cloned().collect();
        let write = TaskWrite {
            task: task.clone().filter(|_| changed),
            once: self.once().filter(|_| changed).cloned(),
            lines,
            notes,
            lease: LeaseWrite {
                states: lease_changed.then(|| lease.clone()).into_iter().collect(),
                ended,
                ended_of,
                events,
                audit: chain(&mut head, now, audit),
            },
        };
        // Commands that do not touch the lease have not evaluated its expiry.
        let lease = lease.as_of(&self.command.policy, now);
        (write, TaskOutcome { answer, task, lease, expired, now })
    }
}

impl TaskWrite {
    /// Returns whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        *self == TaskWrite::default()
    }
}

/// The result of one line of a finalize.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineStep {
    /// The line was applied, skipped or failed.
    Settled(LineOutcome),
    /// This finalize has ended before; this was its answer.
    Over(Finalized),
    /// Nothing happened, and the finalize must stop.
    Refused(Refused),
}

/// A filter for tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskQuery {
    /// Only tasks in this status.
    pub status: Option<Status>,
    /// Only tasks that are locked now, or only those that are not.
    pub locked: Option<bool>,
    /// Only tasks with a smaller number, because lists begin with the newest.
    pub before: Option<TaskId>,
    /// The maximum number of tasks.
    pub limit: u32,
}

/// A page of tasks with their lines and leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskPage {
    /// The database's clock, read afterwards.
    pub now: Time,
    /// Newest first, each with its lease.
    pub tasks: Vec<(Task, lease::State)>,
    /// Where the next page begins ([`TaskQuery::before`]); `None` if this is the last page. A page may have fewer tasks
    /// than the limit without being the last.
    pub next: Option<TaskId>,
}

impl TaskPage {
    /// Builds a page from at most `limit` + 1 tasks. One more than `limit` means that another page follows.
    pub fn new(now: Time, limit: u32, tasks: Vec<Task>, leases: Vec<lease::State>) -> TaskPage {
        let more = tasks.len() > limit as usize;
        let tasks: Vec<_> = tasks.into_iter().zip(leases).take(limit as usize).collect();
        let next = tasks.last().filter(|_| more).map(|(task, _)| task.id);
        TaskPage { now, tasks, next }
    }
}

/// The stock of one article.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockLevel {
    /// The article.
    pub sku: Sku,
    /// All units.
    pub quantity: i64,
    /// The serial numbers of those units that have one, in order.
    pub serials: Vec<String>,
}

/// What applying a line does, in the transaction that marks the line as applied.
///
/// Either both happen or neither, however often a finalize is repeated and whatever crashes in between. So the effect
/// must stay inside the given transaction. Calls to other systems belong in a queue.
pub trait Effect: Send + Sync + 'static {
    /// Applies the line's effect, or refuses it.
    fn apply<'a>(&'a self, line: &'a LineToApply, tx: &'a mut dyn Tx) -> EffectFuture<'a>;
}

/// The future of an effect.
pub type EffectFuture<'a> = Pin<Box<dyn Future<Output = Result<(), EffectError>> + Send + 'a>>;

/// The line whose effect is applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineToApply {
    /// The line's task.
    pub task: TaskId,
    /// The line.
    pub line: Line,
    /// The user who finalizes the task.
    pub by: UserId,
    /// The fence of the user's lease.
    pub fence: turno_core::id::Fence,
    /// The database's time.
    pub now: Time,
}

/// Why an effect failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EffectError {
    /// This line cannot be applied; other lines can. The effect's writes are undone.
    #[error("{0}")]
    Refused(String),
    /// The database failed. The finalize stops and can be repeated.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The transaction of a line, for an application's own statements.
pub trait Tx: Send {
    /// Returns the kind of database, for statements that differ.
    fn dialect(&self) -> Dialect;

    /// Runs a statement and returns how many rows it changed. Parameters are `$1`, `$2`, … on both databases.
    fn execute<'a>(&'a mut self, sql: &'a str, params: &'a [Value]) -> Pending<'a, u64>;

    /// Runs a query and returns its rows.
    fn query<'a>(&'a mut self, sql: &'a str, params: &'a [Value]) -> Pending<'a, Vec<Vec<Value>>>;
}

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

/// A value in a statement or a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// SQL `NULL`.
    Null,
    /// A boolean; SQLite returns it as an integer.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Real(f64),
    /// Text.
    Text(String),
}

/// Reads of tasks and stock.
pub trait TaskReader {
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
}
