//! Tasks: back-office work with lines, processed by one person at a time under a lease.
//!
//! A task's lease is an ordinary one on the resource `task:ID`; what a task adds is its status, which says whether
//! it can be locked at all, and its lines, which can be changed only by whoever holds the live lock. Finalizing
//! applies each line on its own: a line that was applied is never applied again, one that fails stops nobody.
//!
//! Deliberately not here: permissions (the caller has checked them) and what an application's own effect does.

mod decide;
mod line;
mod stock;
#[cfg(test)]
mod tests;

pub use decide::{Decision, Lines, Read, decide};
pub use line::{
    Apply, Begin, Goods, Line, LineDone, LineError, LineOutcome, LineStatus, Movement, NewLine, Patch, begin_line,
    end_line,
};
pub use stock::{Posting, Stock, post};

use crate::audit::Actor;
use crate::id::{Fence, Once, Resource, UserId};
use crate::lease;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::str::FromStr;

/// The number of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(pub i64);

/// What the resources of tasks begin with; reserved for them.
const PREFIX: &str = "task:";

impl TaskId {
    /// The resource of its lease.
    pub fn resource(self) -> Resource {
        Resource::new(format!("{PREFIX}{}", self.0)).expect("a number makes a short name")
    }

    /// The task that a resource stands for. A name in the reserved space that is no number stands for no task
    /// that there could be.
    pub fn of(resource: &Resource) -> Option<TaskId> {
        let number = resource.as_str().strip_prefix(PREFIX)?;
        let plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
        Some(TaskId(plain.then(|| number.parse().ok()).flatten().unwrap_or(0)))
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Being written; anybody with the permission may change it.
    Draft,
    /// Can be taken.
    Ready,
    /// Somebody took it; it may have been left unfinished since.
    Processing,
    /// Some lines are applied and some are not: a finalize is under way, ended early, or met lines that failed. The task
    /// can be taken again.
    PartiallyCompleted,
    /// Every line is applied.
    Completed,
    /// It will not be processed.
    Cancelled,
}

impl Status {
    /// All of them.
    pub const ALL: [Status; 6] = [
        Status::Draft,
        Status::Ready,
        Status::Processing,
        Status::PartiallyCompleted,
        Status::Completed,
        Status::Cancelled,
    ];

    /// Its name outside.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Draft => "draft",
            Status::Ready => "ready",
            Status::Processing => "processing",
            Status::PartiallyCompleted => "partially_completed",
            Status::Completed => "completed",
            Status::Cancelled => "cancelled",
        }
    }

    /// Whether somebody may take it.
    pub fn lockable(self) -> bool {
        matches!(self, Status::Ready | Status::Processing | Status::PartiallyCompleted)
    }

    /// Returns the status after a line was applied. The first applied line makes the task partially completed, in the
    /// line's own transaction, so that a finalize that ends early leaves no task that looks untouched.
    pub fn with_applied_line(self) -> Status {
        if self == Status::Processing { Status::PartiallyCompleted } else { self }
    }
}

impl FromStr for Status {
    type Err = String;
    fn from_str(text: &str) -> Result<Status, String> {
        let found = Status::ALL.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| format!("{text:?} is no status of a task"))
    }
}

/// A task with its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its number.
    pub id: TaskId,
    /// What people call it.
    pub title: String,
    /// Where it stands.
    pub status: Status,
    /// In order, numbered from 1.
    pub lines: Vec<Line>,
    /// Since when.
    pub created_at: Time,
    /// By whom.
    pub created_by: UserId,
    /// The last change.
    pub updated_at: Time,
    /// How it was last finalized: what a repeated finalize is answered with.
    pub finalized: Option<Finalized>,
}

impl Task {
    /// What is written in it: equal for equal titles and lines. A change that is taken back is none.
    pub fn version(&self) -> Version {
        let mut hasher = DefaultHasher::new();
        self.title.hash(&mut hasher);
        self.lines.iter().for_each(|line| line.hash_written(&mut hasher));
        Version(hasher.finish())
    }

    /// Returns the numbers of the lines that are applied.
    pub fn applied_lines(&self) -> Vec<u32> {
        self.lines.iter().filter(|line| line.applied.is_some()).map(|line| line.number).collect()
    }

    /// Returns what a finalize under `fence` that ended early has to report: every applied line, as `Applied` under this
    /// fence or `Skipped` under another one, and the lines that it saw fail (`seen`).
    pub fn outcomes(&self, fence: Fence, seen: &[(u32, LineOutcome)]) -> Vec<(u32, LineOutcome)> {
        let outcome = |line: &Line| match &line.applied {
            Some((_, by, _)) if *by == fence => Some(LineOutcome::Applied),
            Some(_) => Some(LineOutcome::Skipped),
            None => {
                let failed = |(number, outcome): &&(u32, LineOutcome)| {
                    *number == line.number && matches!(outcome, LineOutcome::Failed(_))
                };
                seen.iter().find(failed).map(|(_, outcome)| outcome.clone())
            }
        };
        self.lines.iter().filter_map(|line| Some((line.number, outcome(line)?))).collect()
    }
}

/// What is written in a task or in one of its lines, as a number: for whoever edits it, to say what they have seen. It is kept nowhere, so
/// another release of Turno may number the same text otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version(pub u64);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The answer to a finalize, kept with the task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finalized {
    /// Under which fence.
    pub fence: Fence,
    /// What the task became.
    pub status: Status,
    /// What became of each line.
    pub lines: Vec<(u32, LineOutcome)>,
}

/// What somebody wants of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Which task; a new one has no number yet.
    pub task: Option<TaskId>,
    /// Who wants it.
    pub who: lease::Holder,
    /// The account that speaks for them, if it is not themselves.
    pub via: Option<UserId>,
    /// The times that govern tasks' locks.
    pub policy: lease::Policy,
    /// What they want.
    pub action: Action,
}

impl Command {
    /// Who acts, for the audit.
    pub fn actor(&self) -> Actor {
        Actor { user: self.who.user.clone(), via: self.via.clone() }
    }
}

/// The verbs of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A new one.
    Create {
        /// What people call it.
        title: String,
        /// Its lines.
        lines: Vec<NewLine>,
        /// It can be taken at once.
        ready: bool,
        /// If one was made under this key, it is that one.
        once: Option<Once>,
    },
    /// Change a draft; what is not given stays.
    Edit {
        /// What people call it.
        title: Option<String>,
        /// All its lines.
        lines: Option<Vec<NewLine>>,
        /// What whoever edits has seen; if something else is stored by now, nothing is written over it.
        seen: Option<Version>,
    },
    /// A draft can be taken from now on.
    Ready,
    /// It will not be processed.
    Cancel {
        /// Why.
        reason: Option<String>,
        /// Cancel it although lines are applied; their effects stay.
        keep_applied: bool,
    },
    /// Everything about its lock.
    Lease(lease::Action),
    /// Change a line, under one's own live lock.
    Patch {
        /// Which ownership.
        fence: Fence,
        /// Which line, from 1.
        number: u32,
        /// What changes.
        patch: Patch,
    },
    /// Say that a line is good as it is, under one's own live lock.
    Validate {
        /// Which ownership.
        fence: Fence,
        /// Which line, from 1.
        number: u32,
    },
    /// The last step of finalizing: status and release.
    Close {
        /// Which ownership.
        fence: Fence,
        /// What became of each line.
        lines: Vec<(u32, LineOutcome)>,
    },
}

/// What was decided, for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is as was asked.
    Done,
    /// It had been made under the same key before, and is as it is now.
    Repeated,
    /// Of its lock.
    Lease(lease::Outcome),
    /// It is finalized.
    Finalized {
        /// How.
        finalized: Finalized,
        /// The same finalize had already happened.
        repeated: bool,
    },
}

/// Why not. Nothing of what was asked has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no such task.
    Unknown,
    /// Not in this status.
    WrongStatus(Status),
    /// Somebody has changed it since it was seen.
    Changed,
    /// Its lock says no.
    Lease(lease::Refused),
    /// There is no such line.
    NoSuchLine(u32),
    /// The line is applied and stays as it is.
    LineApplied(u32),
    /// These lines are applied; cancelling the task would not take their effects back.
    LinesApplied(Vec<u32>),
    /// The line has been changed since it was seen.
    LineChanged(u32),
    /// The line cannot be applied as it is.
    LineInvalid(u32, LineError),
    /// A bound or a rule of form; with the field's place.
    Invalid(String),
}

/// One line of a task's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When.
    pub at: Time,
    /// Who.
    pub actor: Actor,
    /// What: a stable word, `line_applied`.
    pub what: String,
    /// Which line, if it was one.
    pub line: Option<u32>,
    /// More, for people.
    pub detail: Option<String>,
}
