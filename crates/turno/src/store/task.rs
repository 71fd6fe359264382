//! A command about a task and its decision; and what an application's own effect of a line receives.

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

/// One command about one task. People are not many; there is nothing to group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskGroup {
    /// The command.
    pub command: Command,
    /// The built-in stock ledger is the effect of lines, so that validating looks at it.
    pub stock: bool,
}

/// What the store read, with the task and its lease locked.
#[derive(Debug)]
pub struct TaskRead {
    /// For the decision.
    pub read: Read,
    /// The head of the audit, locked, if [`TaskGroup::audits`].
    pub head: Option<Head>,
}

/// What is written with the decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskWrite {
    /// The task as it is now, if it changed.
    pub task: Option<Task>,
    /// For a new one: the key that it is made under.
    pub once: Option<Once>,
    /// Which of its lines are written.
    pub lines: Lines,
    /// For its history.
    pub notes: Vec<Note>,
    /// Its lease, events, and the audit.
    pub lease: LeaseWrite,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskOutcome {
    /// What was decided, or why not.
    pub answer: Result<Outcome, Refused>,
    /// The task afterwards.
    pub task: Option<Task>,
    /// Its lease afterwards.
    pub lease: lease::State,
    /// Ownerships that had expired and were ended by this command: nobody asked for their end, so it is logged.
    pub expired: Vec<lease::Ending>,
    /// The database's time of the decision.
    pub now: Time,
}

impl TaskGroup {
    /// Its task's lease, to be inserted if it is missing and locked; a new task has none yet.
    pub fn resource(&self) -> Option<Resource> {
        self.command.task.map(TaskId::resource)
    }

    /// The key under which a task is to be made once: one that was made under it is read in place of a new one.
    pub fn once(&self) -> Option<&Once> {
        match &self.command.action {
            Action::Create { once, .. } => once.as_ref(),
            _ => None,
        }
    }

    /// The line whose article's stock must be read.
    pub fn validates(&self) -> Option<u32> {
        match self.command.action {
            Action::Validate { number, .. } if self.stock => Some(number),
            _ => None,
        }
    }

    /// Whether the head of the audit must be locked, after everything else.
    pub fn audits(&self) -> bool {
        use lease::Action::{ForceClaim, ForceRelease};
        matches!(self.command.action, Action::Cancel { .. } | Action::Lease(ForceClaim { .. } | ForceRelease { .. }))
    }

    /// How many fresh numbers the decision may use.
    pub fn numbers(&self) -> usize {
        use lease::Action::{Claim, ForceClaim};
        usize::from(matches!(self.command.action, Action::Lease(Claim { .. } | ForceClaim { .. })))
    }

    /// Decides.
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
        // Commands that leave the lease alone have not evaluated it.
        let lease = lease.as_of(&self.command.policy, now);
        (write, TaskOutcome { answer, task, lease, expired, now })
    }
}

impl TaskWrite {
    /// Nothing to write.
    pub fn is_empty(&self) -> bool {
        *self == TaskWrite::default()
    }
}

/// What became of one line of a finalize.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineStep {
    /// Applied, skipped or failed.
    Settled(LineOutcome),
    /// This very finalize is over already; this was its answer.
    Over(Finalized),
    /// Nothing happened, and nothing further may.
    Refused(Refused),
}

/// Which tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskQuery {
    /// Only in this status.
    pub status: Option<Status>,
    /// Only those that are locked now, or only those that are not.
    pub locked: Option<bool>,
    /// Only those with a smaller number: lists begin with the newest.
    pub before: Option<TaskId>,
    /// At most so many.
    pub limit: u32,
}

/// Some tasks with their lines and their locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskPage {
    /// The database's clock, read afterwards.
    pub now: Time,
    /// Newest first, each with its lease.
    pub tasks: Vec<(Task, lease::State)>,
    /// Where the next page begins ([`TaskQuery::before`]); nothing if this is the last one. A page may hold fewer than
    /// asked for without being the last.
    pub next: Option<TaskId>,
}

impl TaskPage {
    /// The page of up to `limit` of these tasks; one more means that it is not the last.
    pub fn of(now: Time, limit: u32, tasks: Vec<Task>, leases: Vec<lease::State>) -> TaskPage {
        let more = tasks.len() > limit as usize;
        let tasks: Vec<_> = tasks.into_iter().zip(leases).take(limit as usize).collect();
        let next = tasks.last().filter(|_| more).map(|(task, _)| task.id);
        TaskPage { now, tasks, next }
    }
}

/// What is in stock of one article.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockLevel {
    /// Which.
    pub sku: Sku,
    /// All units.
    pub quantity: i64,
    /// Those that have serial numbers, in order.
    pub serials: Vec<String>,
}

/// What a line does when it is applied, in the transaction that marks it as applied.
///
/// Both happen or neither does, however often a finalize is repeated and whatever crashes in between: that is
/// why the effect must stay inside the transaction it is given. What leaves the database belongs into a queue.
pub trait Effect: Send + Sync + 'static {
    /// Carries the line's effect out, or says why not.
    fn apply<'a>(&'a self, line: &'a LineToApply, tx: &'a mut dyn Tx) -> Effected<'a>;
}

/// An effect under way.
pub type Effected<'a> = Pin<Box<dyn Future<Output = Result<(), EffectError>> + Send + 'a>>;

/// The line whose effect is to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineToApply {
    /// Whose line it is.
    pub task: TaskId,
    /// The line.
    pub line: Line,
    /// Who applies it.
    pub by: UserId,
    /// Under which fence.
    pub fence: turno_core::id::Fence,
    /// The database's time.
    pub now: Time,
}

/// Why an effect did not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EffectError {
    /// This line cannot be applied; the others can. What the effect has written is undone.
    #[error("{0}")]
    Refused(String),
    /// The database failed; the finalize stops here and can be repeated.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The transaction of a line, for an application's own statements.
pub trait Tx: Send {
    /// Which database it is, for statements that differ.
    fn dialect(&self) -> Dialect;

    /// Runs a statement; answers how many rows it changed. Parameters are `$1`, `$2`, … on both databases.
    fn execute<'a>(&'a mut self, sql: &'a str, params: &'a [Value]) -> Pending<'a, u64>;

    /// Runs a query; answers its rows.
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
    /// Nothing.
    Null,
    /// A truth value; in SQLite it is read back as an integer.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Another number.
    Real(f64),
    /// A text.
    Text(String),
}
