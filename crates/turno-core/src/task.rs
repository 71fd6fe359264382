//! Tasks: back-office work with lines, processed by one person at a time.
//!
//! A task is locked by an ordinary lease on the resource `task:ID`. A task adds two things to the lease:
//!
//! - a status, which says whether the task can be claimed (ready, processing or partially completed);
//! - lines, each of which moves an article into stock or out of it. Only the holder of the live lease may change them.
//!
//! Finalizing a task applies each line in a transaction of its own ([`begin_line`], the effect, [`end_line`]) and then
//! sets the status and releases the lease ([`Action::Close`]). A line that was applied is never applied again. A line
//! that fails does not stop the others.
//!
//! This module does not check permissions (the engine has done that before), and does not know
//! an application's own effects.

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
use crate::fault::{Invalid, Vocabulary};
use crate::id::{Fence, Once, Resource, UserId};
use crate::lease;
use crate::named::named;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The number of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(pub i64);

/// The prefix of the resources of tasks. No other resource may use it.
const PREFIX: &str = "task:";

impl TaskId {
    /// Returns the resource of the task's lease.
    pub fn resource(self) -> Resource {
        Resource::new(format!("{PREFIX}{}", self.0)).expect("a number makes a short name")
    }

    /// Returns the task of a resource, or `None` if the resource does not have the prefix of tasks. A name with the
    /// prefix but without a valid number gives task 0, which never exists.
    pub fn from_resource(resource: &Resource) -> Option<TaskId> {
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

named! {
    /// The status of a task.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Status {
        /// The task is being written. Every user with the permission may edit it.
        Draft = "draft",
        /// The task can be claimed.
        Ready = "ready",
        /// The task was claimed. Its holder may have released it since without finishing it.
        Processing = "processing",
        /// Some lines are applied and some are not: a finalize is under way, ended early, or had lines that failed. The
        /// task can be claimed.
        PartiallyCompleted = "partially_completed",
        /// Every line is applied.
        Completed = "completed",
        /// The task will not be processed.
        Cancelled = "cancelled",
    } else Vocabulary::TaskStatus
}

impl Status {
    /// Returns whether the task can be claimed.
    pub fn lockable(self) -> bool {
        matches!(self, Status::Ready | Status::Processing | Status::PartiallyCompleted)
    }

    /// Returns the status after a line was applied. The first applied line makes the task partially completed, in the
    /// line's own transaction, so that a finalize that ends early leaves no task that looks untouched.
    pub fn with_applied_line(self) -> Status {
        if self == Status::Processing { Status::PartiallyCompleted } else { self }
    }
}

/// A task with its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The task's number.
    pub id: TaskId,
    /// The title.
    pub title: String,
    /// The status.
    pub status: Status,
    /// The lines in order, numbered from 1.
    pub lines: Vec<Line>,
    /// When the task was created.
    pub created_at: Time,
    /// The user who created the task.
    pub created_by: UserId,
    /// When the task was last changed.
    pub updated_at: Time,
    /// The result of the last finalize, as the answer to a repeated one.
    pub finalized: Option<Finalized>,
}

impl Task {
    /// Returns the version of the title and the lines. Equal contents have equal versions, so a change that is undone
    /// gives the old version again.
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

    /// Returns what a finalize under `fence` that ended early has to report: every applied line, as `Applied` under
    /// this fence or `Skipped` under another one, and the lines that it saw fail (`seen`).
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

/// A hash of the contents of a task or a line. An editor sends the version that it has read, so that it does not
/// overwrite newer contents. Versions are not stored, so another release of Turno may compute different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version(pub u64);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The result of a finalize, stored with the task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finalized {
    /// The fence of the ownership that finalized.
    pub fence: Fence,
    /// The status after the finalize.
    pub status: Status,
    /// The outcome of each line, by its number.
    pub lines: Vec<(u32, LineOutcome)>,
}

/// A command about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The task. `None` for a new one, which has no number yet.
    pub task: Option<TaskId>,
    /// The caller.
    pub who: lease::Holder,
    /// The account that calls on behalf of `who`, if it is another one.
    pub via: Option<UserId>,
    /// The lease policy of tasks.
    pub policy: lease::Policy,
    /// What to do.
    pub action: Action,
}

impl Command {
    /// Returns the actor for the audit.
    pub fn actor(&self) -> Actor {
        Actor { user: self.who.user.clone(), via: self.via.clone() }
    }
}

/// The verbs of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Create a task.
    Create {
        /// The title.
        title: String,
        /// The lines.
        lines: Vec<NewLine>,
        /// Create it as ready instead of as a draft.
        ready: bool,
        /// If a task was already created under this key, return that task instead.
        once: Option<Once>,
    },
    /// Edit a draft. A field that is `None` stays as it is.
    Edit {
        /// The new title.
        title: Option<String>,
        /// The new lines, which replace all lines.
        lines: Option<Vec<NewLine>>,
        /// The version that the editor has read. If another version is stored, the edit is refused.
        seen: Option<Version>,
    },
    /// Make a draft ready.
    Ready,
    /// Cancel the task.
    Cancel {
        /// The reason.
        reason: Option<String>,
        /// Cancel it even if lines are applied. Their effects stay.
        keep_applied: bool,
    },
    /// A command about the task's lease.
    Lease(lease::Action),
    /// Change a line. Needs the caller's live lease.
    Patch {
        /// The fence of the caller's ownership.
        fence: Fence,
        /// The number of the line, from 1.
        number: u32,
        /// The changes.
        patch: Patch,
    },
    /// Mark a line as checked. Needs the caller's live lease.
    Validate {
        /// The fence of the caller's ownership.
        fence: Fence,
        /// The number of the line, from 1.
        number: u32,
    },
    /// The last step of a finalize: set the status and release the lease.
    Close {
        /// The fence of the caller's ownership.
        fence: Fence,
        /// The outcome of each line, by its number.
        lines: Vec<(u32, LineOutcome)>,
    },
}

/// The successful result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The command took effect.
    Done,
    /// A task was already created under the same key. It is returned as it is now.
    Repeated,
    /// The outcome of a command about the lease.
    Lease(lease::Outcome),
    /// The task is finalized.
    Finalized {
        /// The result.
        finalized: Finalized,
        /// The same finalize had already happened.
        repeated: bool,
    },
}

/// The reason why a command was refused. The command had no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no such task.
    #[error("the task does not exist")]
    Unknown,
    /// The task's status does not allow the command.
    #[error("the task is {}", .0.as_str())]
    WrongStatus(Status),
    /// The task has changed since the caller read it.
    #[error("the task has changed; read it again")]
    Changed,
    /// The lease refused the command.
    #[error(transparent)]
    Lease(lease::Refused),
    /// There is no such line.
    #[error("the task has no line {0}")]
    NoSuchLine(u32),
    /// The line is applied, so it cannot change.
    #[error("line {0} is applied and cannot change")]
    LineApplied(u32),
    /// These lines are applied. Cancelling the task would not undo their effects.
    #[error("lines {0:?} are applied; cancelling would keep their effects")]
    LinesApplied(Vec<u32>),
    /// The line has changed since the caller read it.
    #[error("line {0} has changed; read it again")]
    LineChanged(u32),
    /// The line cannot be applied as it is.
    #[error("line {0}: {1}")]
    LineInvalid(u32, LineError),
    /// A field is invalid. Its index is the position of the line, from 0.
    #[error(transparent)]
    Invalid(Invalid),
}

impl Refused {
    /// Returns the stable code of the refusal, the same as in the HTTP API.
    pub fn code(&self) -> &'static str {
        match self {
            Refused::Unknown | Refused::NoSuchLine(_) => "not_found",
            Refused::WrongStatus(_) => "wrong_status",
            Refused::Changed => "draft_changed",
            Refused::Lease(refused) => refused.code(),
            Refused::LineApplied(_) => "line_applied",
            Refused::LinesApplied(_) => "lines_applied",
            Refused::LineChanged(_) => "line_changed",
            Refused::LineInvalid(..) => "line_invalid",
            Refused::Invalid(_) => "invalid",
        }
    }
}

/// One entry of a task's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When it happened.
    pub at: Time,
    /// Who did it.
    pub actor: Actor,
    /// The stable name of what happened, such as `line_applied`.
    pub what: String,
    /// The number of the line, if it concerns one.
    pub line: Option<u32>,
    /// Details for people.
    pub detail: Option<String>,
}
